package thread

import "testing"

// Ids of tool calls as vendors and servers make them. Those that count, or name the tool, are in
// many conversations.
func TestRandomIDsIdentify(t *testing.T) {
	for id, want := range map[string]bool{
		"toolu_01A09q90qw90lq917835lq9":                  true, // Anthropic
		"call_DqXmTeLsYbUkRfWcPoIn7h2v":                  true, // OpenAI
		"call_abDefGhijkLmnop7qRstUvwx":                  true, // with one digit
		"D681PevKs":                                      true, // Mistral
		"a1b2c3d4e":                                      true, // Cerebras
		"chatcmpl-tool-4f1c0be6bb2c4f0e8b8b6f2ad0d1d3a7": true, // vLLM
		"call_00_ZpGXtC8XzJ2Nqf1Kq7hWm3Vd":               true, // DeepSeek
		"365174485":                                      true, // LM Studio
		"function-call-15486329857390218357":             true, // Gemini
		"call_x8f3k2ab":                                  true, // Ollama
		"call_1":                                         false,
		"call_12":                                        false,
		"toolu_000000017":                                false,
		"functions.read_file:0":                          false, // Kimi
		"read_part-20261117":                             false,
		"getFileInfoFromRemoteServer":                    false,
		"call_getFileInfo3":                              false,
		"readFileFromFolder12":                           false,
		"acall1":                                         false,
		"":                                               false,
	} {
		if random(id) != want {
			t.Errorf("random(%q) is %v", id, !want)
		}
	}
}
