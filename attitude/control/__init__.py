"""Control: detumbling, pointing, momentum dumping, references and the mode manager."""
