module github.com/oriel-context/oriel/bench/vector

go 1.26.0

require github.com/oriel-context/oriel v0.0.0

require golang.org/x/sys v0.49.0

replace github.com/oriel-context/oriel => ../..
