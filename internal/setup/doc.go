/*
Package setup changes the configuration of agents so that they use Oriel always, and takes
the change back.

A [Document] is the text of a file with settings in JSON with comments, TOML or simple YAML.
It is changed as text: formatting, comments and the order of everything else stay. [Edits]
are the change of one agent's files. [Edits.Write] keeps a backup of each file and a record;
[Undo] restores the bytes of the backup, or, if a file was changed since, takes out what Edits
put in.

# What it guarantees

  - A file is replaced by one rename, with its permissions, also through a symbolic link.
  - Before a file is written, the new text is read again: it has the settings, and everything
    else in it is as it was.
  - Undo after Write restores every byte.

# Caveats

A program that writes the same file at the same moment may lose its change, or undo this one.
*/
package setup
