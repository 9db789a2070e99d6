package forward

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	"github.com/oriel-context/oriel/wire"
)

// maxText bounds how much of a refusal is read.
const maxText = 256 << 10

// refusal returns the text of a refusal: the body of a 400, 413 or 422, a 200 that is nothing
// but an error, or the head of a stream that begins with an error. It returns nil for any
// other answer. The answer can still be read from its beginning. run starts a goroutine.
func refusal(res *http.Response, run starter) []byte {
	switch res.StatusCode {
	case http.StatusOK:
		if text := wholeRefusal(res); text != nil {
			return text
		}
		return streamRefusal(res, HeadWait, run)
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return textOf(res)
	}
	return nil
}

// textOf returns the decoded text of a short answer, or nil if it is long or cannot be
// read.
func textOf(res *http.Response) []byte {
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxText+1))
	putBack(res, raw)
	if err != nil || len(raw) > maxText {
		return nil
	}
	encoding := strings.Join(res.Header["Content-Encoding"], ",")
	if encoding == "" {
		return raw
	}
	decoded, err := wire.Decode(encoding, bytes.NewReader(raw))
	if err != nil {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(decoded, maxText))
	if err != nil {
		return nil
	}
	return text
}

// putBack makes an answer's body begin again with what was read of it.
func putBack(res *http.Response, read []byte) {
	res.Body = continued(read, res.Body, res.Body)
}

// continued returns a body that begins with what was read of it and goes on with rest.
func continued(read []byte, rest io.Reader, closer io.Closer) io.ReadCloser {
	return joined{io.MultiReader(bytes.NewReader(read), rest), closer}
}

// joined is the part of a body that was read, followed by the rest.
type joined struct {
	io.Reader
	io.Closer
}
