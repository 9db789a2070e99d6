module github.com/oriel-context/oriel/bench/minilm

go 1.26.0

require (
	github.com/oriel-context/oriel v0.0.0
	golang.org/x/sys v0.49.0
)

replace github.com/oriel-context/oriel => ../..
