package prices

import (
	"regexp"
	"strings"
)

// A vendor is a company whose own models LiteLLM's file has.
type vendor struct {
	// provider is the vendor's name in the table of models.
	provider string
	// by are the values of litellm_provider that stand for the vendor's own service.
	by []string
	// names matches the vendor's own models, because vendors serve those of others, too.
	names *regexp.Regexp
}

var vendors = []vendor{
	{"anthropic", []string{"anthropic"}, regexp.MustCompile(`^claude-`)},
	{"openai", []string{"openai"}, regexp.MustCompile(`^(gpt-|o\d|chat-latest|computer-use|daybreak-)`)},
	{"google", []string{"gemini"}, regexp.MustCompile(`^(gemini-[\dfp]|gemma-|gemini-omni)`)},
	{"xai", []string{"xai"}, regexp.MustCompile(`^grok-`)},
	{"moonshot", []string{"moonshot"}, regexp.MustCompile(`^(kimi|moonshot)-`)},
	{"zai", []string{"zai"}, regexp.MustCompile(`^glm-`)},
	{"deepseek", []string{"deepseek"}, regexp.MustCompile(`^deepseek-`)},
	{"mistral", []string{"mistral"},
		regexp.MustCompile(`^(mistral|ministral|magistral|codestral|devstral|pixtral|open-mi[sx]tral|voxtral|labs-)`)},
	{"minimax", []string{"minimax"}, regexp.MustCompile(`^minimax-`)},
	{"alibaba", []string{"dashscope"}, regexp.MustCompile(`^(qwen|qwq)`)},
	{"meta", []string{"meta"}, regexp.MustCompile(`^muse-`)},
	{"xiaomi", []string{"xiaomi_mimo"}, regexp.MustCompile(`^mimo-`)},
	{"tencent", []string{"tencent"}, regexp.MustCompile(`^hy`)},
	{"cohere", []string{"cohere_chat", "cohere"}, regexp.MustCompile(`^command-`)},
	{"amazon", []string{"amazon_nova"}, regexp.MustCompile(`^nova-`)},
	{"inception", []string{"inception"}, regexp.MustCompile(`^mercury`)},
	{"perplexity", []string{"perplexity"}, regexp.MustCompile(`^sonar`)},
	{"ai21", []string{"ai21"}, regexp.MustCompile(`^jamba-`)},
}

// others matches models that converse, if at all, in another way than by text.
var others = regexp.MustCompile(
	`audio|realtime|-tts|transcribe|-image|embedding|moderation|-live|deep-research|robotics`)

// vendorOf returns the vendor of an entry of LiteLLM's file, and the model's name without
// the vendor's; nil for what is not a vendor's own.
func vendorOf(by, key string) (*vendor, string) {
	name := strings.ToLower(key)
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	for i := range vendors {
		v := &vendors[i]
		for _, b := range v.by {
			if b == by && v.names.MatchString(name) && !others.MatchString(name) {
				return v, name
			}
		}
	}
	return nil, ""
}

// Provider returns the vendor in the table of models whose model has the given name, "" if
// no vendor's models have such names.
func Provider(name string) string {
	name = strings.ToLower(name)
	for i := range vendors {
		if vendors[i].names.MatchString(name) {
			return vendors[i].provider
		}
	}
	return ""
}

// NotText reports whether a model of that name answers in another way than by text.
func NotText(name string) bool { return others.MatchString(name) }
