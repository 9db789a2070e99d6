module github.com/oriel-context/oriel/bench/bpe

go 1.26.0

require (
	github.com/oriel-context/oriel v0.0.0
	github.com/tiktoken-go/tokenizer v0.10.0
	golang.org/x/sys v0.49.0
)

require github.com/dlclark/regexp2/v2 v2.5.1 // indirect

replace github.com/oriel-context/oriel => ../..
