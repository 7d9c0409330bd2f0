"""Chapter 6 of Lee, Leok and McClamroch, section by section: what can be measured, as rows of the table."""
