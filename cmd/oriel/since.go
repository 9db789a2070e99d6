package main

// sinceHelp describes the value of --since; see browse.Since.
const sinceHelp = "`when`: today, yesterday, 12h, 7d, 2w, 2026-11-01, 2026-11 or RFC 3339"
