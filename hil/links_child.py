"""A program as peer, on its standard input and output."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress

from hil.links import LinkError
from hil.streams import StreamLink

PATIENCE_S = 1.0  # for a child to end by itself when its input ends


class Child(StreamLink):
    """Starts `command`; its standard error is ours. It has a session of its own: an interrupt comes to us alone."""

    def __init__(self, command: list[str]) -> None:
        super().__init__(f"child {command[0]}")
        self.command = command
        self._process = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        try:
            process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True
            )
        except OSError as error:
            raise LinkError(f"program {self.command[0]} cannot be started: {error.strerror}") from None
        assert process.stdin is not None
        assert process.stdout is not None
        self._open_channel(process.stdout.fileno(), process.stdin.fileno())
        return process

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the child runs."""
        return self._process.poll() is None

    @property
    def ended(self) -> str:
        """How it ended, for people."""
        code = self._process.poll()
        if code is None:
            return "runs"
        return f"ended with exit code {code}" if code >= 0 else f"was ended by signal {signal.Signals(-code).name}"

    def restart(self) -> bool:
        """End the child if it runs, and start another; false if that fails."""
        self._channel = None
        self._end()
        try:
            self._process = self._started()
        except LinkError:
            self.counters.errors += 1
            return False
        self._closed = False
        return True

    def _end(self) -> None:
        """End of input, then patience, then the knife."""
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def close(self) -> None:
        """End the child."""
        if not self._closed:
            super().close()
            self._end()


class StandardStreams(StreamLink):
    """Standard input and output of this process; what else it prints goes to standard error from now on."""

    def __init__(self) -> None:
        super().__init__("standard input and output")
        try:
            self._output = os.dup(1)
            os.dup2(2, 1)
        except OSError as error:
            raise LinkError(f"standard output cannot be used as a link: {error.strerror}") from None
        self._open_channel(0, self._output)

    def _release(self) -> None:
        with suppress(OSError):
            os.close(self._output)
