package directive

import (
	"regexp"
	"strings"
)

// workVerbs are what people tell an assistant to do. Verbs that friends use as often
// ("take", "stay", "try", "come") are not among them.
var workVerbs = strings.Fields(`
	act add address adopt alphabetize answer append apply approach ask assume avoid begin build call capitalise capitalize check cite close code comment
	commit compare compose conclude confirm convert create default define deploy describe display do document don't draft edit emphasise emphasize end ensure
	escape exclude explain finish focus follow format generate give group highlight identify ignore illustrate implement include incorporate insert italicise italicize
	keep label limit lint list log maintain make mask mention merge name note number omit open order output present print prioritise prioritize provide push put quote
	rebase recommend refer reference refrain rephrase reply report respond restate return review rewrite round run say separate show sign sort specify speak spell start state
	stick stop structure suggest summarise summarize talk tag test translate treat update use validate verify wait warn wrap write`)

// noVerbs are words after "always" and "never" that make the sentence a
// statement of fact.
var noVerbs = strings.Fields(`
	mind seen gonna got had been was were did saw the a an again happened worked received heard knew thought
	able about amazing and as at awesome best better but by down easy fun glad good grateful great happy hard here important in keen more my nice on one or possible proud
	ready room done gone made told so someone something than there to too true false up welcome wise with wonderful worth your`)

// The parts of the expressions below.
const (
	// clauseStart is where a command may begin.
	clauseStart = `(?:^(?:[-*+•]\s+|\d{1,2}[.)]\s+)?["'(*_]{0,3}|[.,;:!?)]["'*_]{0,3}\s+["'(*_]{0,3}|\b(?:and|but|so|also|then|accordingly|conversation|chat|discussion|session|hello|hi|hey|today|please|kindly|just|only|now on|here on|here on out|point on|henceforth|circumstances|forward|all times)\s+|\s[-–—]+\s*)` +
		`(?:(?:please|kindly|also|and|but|so|just|only|simply|instead),?\s+)*`
	reply    = `(?:responses?|answers?|repl(?:y|ies)|outputs?|communications|explanations?)`
	replies  = `(?:responses|answers|replies|outputs|communications|explanations)`
	dialogue = `(?:conversation|chat|discussion|session|dialogue|exchange|interaction|thread)s?`
	not      = `(?:do not|don'?t|never)`
)

func either(alternatives ...string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)` + strings.Join(alternatives, "|"))
}

// lasting matches words that extend a wish beyond the next answer.
var lasting = pattern{
	words{"now on", "here on", "this point", "henceforth", "all times", "no matter", "no circumstances",
		"going forward", "moving forward", "future,", "further notice", "rest of", "remainder of", "entirety of",
		"all future", "conversation", "chat", "discussion", "session", "dialogue", "exchange", "interaction", "thread",
		"response", "answer", "repl", "output", "communications", "explanation", "respond", "explaining", "question",
		"request", "prompt", "message", "i ask", "i request", "i say", "i tell", "while we", "time you"},
	either(
		`\b(?:from now on|from here on(?: out)?|from this point (?:on|onwards?|forward)|henceforth|at all times|no matter what|under no circumstances)\b`,
		`^(?:[\w']+[!,.]? )?(?:going forward|moving forward|in (?:the )?future),|\b(?:going|moving) forward[.!]?$|\buntil further notice\b`,
		`\bfor (?:the (?:rest|remainder|entirety) of (?:this|our)|all future)\b`,
		`\b(?:for|during|throughout|in|over|of|have|keep) (?:this|our|the|today's)(?: (?:whole|entire|full|remaining|current|upcoming))? `+dialogue+`\b`,
		`\b(?:all|each|every|any)(?: one)?(?: single)?(?: of)?(?: your| (?:\w+)){0,1} `+reply+`\b`,
		`\b(?:all|each|every|any)(?: one)?(?: of)? my (?:\w+ )?(?:questions?|requests?|prompts?|messages?)\b`,
		`\b(?:each|every|any) (?:question|request|prompt|message) (?:that )?i\b`,
		`\byour (?:\w+ )?`+replies+`\b`,
		`\b(?:when(?:ever)?|if|every time|each time|any ?time|before|after) i (?:ask|request)\b`,
		`\b(?:unless|until) i (?:say|ask|tell|request)\b|\bwhile we (?:talk|chat|speak|discuss)\b`,
		`\bwhen(?:ever)? (?:you (?:answer|respond|reply)|answering|responding|replying|explaining)\b|\b(?:every|each|any) ?time you (?:answer|respond|reply|write|speak)\b`,
	),
}

// requests matches words that turn to the reader.
var requests = either(
	`\b(?:please|kindly)\b`,
	`\byou (?:should|must|need to|have to|are to|shall|may (?:only|not|never)|can only)\b`,
	`\bi(?:'d| would)? (?:really )?(?:want|need|expect|like|love|prefer|appreciate) (?:it )?(?:if |for |that )?(?:all |each |every )?(?:of )?(?:you|your)\b|\blet's\b`,
	`\b(?:can|could|would|will) you\b|\bif you (?:could|would|can)\b`,
	`\b(?:make|be) sure (?:that )?(?:to|you|your|all|each|every|any|the|no|not|never|always|throughout|it)\b`,
	`\b`+reply+` (?:\w+ )?(?:should|must|have to|has to|need to|needs to|are to|is to)\b`,
)

// beginsWork matches a clause that begins with a verb of work.
var beginsWork = either(clauseStart + `(?:(?:always|never|do not|don'?t|try to|not to|ever),?\s+)*(?:` +
	strings.Join(workVerbs, "|") + `)\b`)

// states matches sentences whose subject is not the reader.
var states = either(`^(?:(?:and|but|so|well|yes|yeah|also|oh|actually|ok(?:ay)?|hi|hello|thanks|btw)[,!]?\s+)*(?:i|we|he|she|they|it|my|our|his|her|their|there)(?:'\w+)?\b`)

// asksReader matches questions that ask the reader for something.
var asksReader = either(`\b(?:can|could|would|will) you\b`)

// ever matches "always" or "never" at the beginning of a sentence, also after
// a purpose ("for tests, always …") or a time ("from now on always …"), and captures the verb.
var ever = regexp.MustCompile(`(?i)^(?:[-*+•]\s+|\d{1,2}[.)]\s+)?["*_]{0,2}(?:` + strings.Join([]string{
	`(?:(?:please|also|and|but|ok(?:ay)?|so|btw),?\s+)*`,
	`(?:remember|reminder|note|important)[:,]\s+(?:please\s+)?`,
	`(?:for|in|on) (?:this|our|my|the|all|any|every) (?:\w+ )?(?:projects?|repo|repository|codebase|conversation|chat|session|files?|folder|branch|document|tasks?|app|service|package|module),?\s+(?:please\s+)?`,
	`(?:when|whenever|if|before|after) you [^,.]{1,60},\s+(?:please\s+)?`,
	`(?:from now on|from here on(?: out)?|going forward|moving forward|henceforth),?\s+(?:please\s+)?`,
}, "|") + `)["*_]{0,2}(?:always|never)["*_]{0,2}\s+(\w+)`)

// obliges matches rules that are not commands at the beginning of the sentence.
var obliges = pattern{
	words{"always", "never", " ever", "note ", "you to", "only"},
	either(
		`\byou (?:should|must|need to|have to|are to) (?:always|never)\b`,
		`\b(?:please |just )?(?:make|be) sure (?:to |that you |you )(?:always|never)\b`,
		`(?:^|[.,;:!?]\s+|\b(?:please|and|also|but|so|just)\s+)(?:do not|don'?t) ever\b`,
		`(?:^|[.,;:!?]\s+|\b(?:please|and|also)\s+)note (?:to\b|(?:that|this)\b.*\b(?:always|never|must|should|only|prefer|want|don'?t|do not)\b)`,
		`\bi(?: only| just)?(?: want| need| expect| would like|'d like) you to (?:(?:always|never|only)\b|act (?:as|like)\b|pretend\b|avoid\b|(?:refer to|address) me\b|(?:respond|reply|answer|speak)\b.{0,30}\b(?:in|as|with|like|only|without|using|each|every|all)\b)`,
		`\b(?:only|always) (?:respond|reply|answer|use|write|format|include|provide)\b.*\b(?:when|if|for)\b`,
		clauseStart+`please (?:always|never) \w+`,
	),
}

// reminds matches a reminder of work, or of a fact with a figure or a name of a program's:
// "remember to run the linter", but not "don't forget to smile".
var reminds = pattern{
	words{"remember", "in mind", "forget"},
	either(
		`(?:^|[.,;:!?]\s+|\b(?:please|and|also|but|so|just)\s+)(?:remember|keep in mind|bear in mind|(?:don'?t|do not|never) (?:ever )?forget)(?:` + strings.Join([]string{
			` (?:not )?to (?:always |never )?(?:run|use|commit|push|test|lint|build|rebase|format|cite|quote|respond|reply|answer|translate|convert|escape|sign (?:off|commits?|your))\b`,
			` that (?:(?:i|we|you|they) (?:\w+ )?(?:must|prefer|use|don'?t want|do not want)\b|.*(?:\d|` + "`" +
				`|\w/\w|\w_\w|(?-i:[a-z][A-Z])|\w\.[a-z]{2,4}\b))`,
			` this:`,
		}, "|") + `)`,
	),
}

// encourages matches what people tell each other, in the words of a rule.
var encourages = either(
	`\b(?:give up|say never|yourself|your (?:own )?(?:dreams?|hearts?|passions?|goals?|guts?|instincts?|worth|happiness|health|journey|loved ones|self|potential|friends?|famil(?:y|ies)|kids|blessings)|you(?:'ve)? got this|count on|have faith|walk alone|look(?:ing)? (?:back|forward))\b`,
	`\b(?:stay|keep|be|staying|being) (?:positive|strong|true|motivated|safe|focused|there|here|kind|proud|grateful|thankful|afraid|happy|smiling|going|dreaming|shining|hopeful)\b`,
	`\b(?:always|never|ever)\s+(?:believe|dream|hope|smile|laugh|quit|cherish|forget|doubt|love|regret|underestimate|settle|worry|remember|know|feel|enjoy|live|say goodbye|stop(?: \w+ing\b|[.!]|$)|change[.!]|lose (?:hope|sight|faith|heart|your)|let (?:any|some|fear|them|it|others|go|the \w+ get)\w*|make time|take (?:care|time|it|any))`,
)

// lexical matches words and marks that answers must not contain.
var lexical = pattern{
	words{"the word", "the phrase", "the term", "the letter", "words", "punctuation", "bold", "italic", "emoji",
		"emoticon", "pronoun", "bullet", "markdown", "jargon", "capital letters", "contraction", "abbreviation",
		"exclamation", "dashes", "heading", "code block", "code comment", "profanity", "slang", "disclaimer",
		"preamble", "follow-up", "verbs", " voice"},
	either(
		clauseStart+`(?:`+not+
			` (?:ever )?(?:use|include|repeat|mention|write|put|add|say|employ|give|provide|ask)|(?:avoid|refrain from|stop)(?: (?:using|including|repeating|mentioning|writing|adding|saying|employing))?)(?: (?:the use of|[\w'-]+)){0,4}? `+
			`(?:the (?:words?|phrases?|terms?|letters?)\b|words (?:with|that|containing)|punctuation|bold|italics?\b|emojis?|emoticons|pronouns|bullets?\b|markdown|jargon|capital letters|contractions|abbreviations|exclamation (?:marks|points)|em[- ]dashes|headings|code blocks|code comments|profanity|slang|filler words|disclaimers|preambles?|follow-up questions|(?:active|passive) (?:verbs|voice))`,
		`^no (?:emojis?|markdown|bullet points|disclaimers|preamble|bold)\b`,
	),
}

// replyForm matches wishes about all answers or their sentences.
var replyForm = pattern{
	words{"response", "answer", "repl", "output", "communications", "explanation", "sentence", "paragraph", "message",
		"your code"},
	either(
		clauseStart+`(?:keep|limit|restrict|make|ensure|make sure)(?: that)?(?: (?:all|each|every)(?: of)?(?: your)?(?: \w+){0,2}? (?:`+reply+`|sentences?|paragraphs?)| your(?: \w+)? (?:`+replies+`|sentences|paragraphs|code))\b`,
		clauseStart+`(?:begin|start|end|finish|open|close) (?:each|every|all)(?: \w+){0,3}? (?:`+reply+
			`|sentences?|paragraphs?|messages?)\b`,
		clauseStart+`(?:ensure|make sure)(?: that)? (?:your|the) (?:response|answer|reply) (?:is|are|has|uses|stays|remains)\b`,
	),
}

// manner matches how the assistant should answer or address the user.
var manner = pattern{
	words{"respond", "reply", "answer", "address", "refer to me"},
	either(
		clauseStart+`(?:respond|reply|answer)(?: to me| me| only| strictly| exclusively| briefly| back| them| each one| all of them)* (?:in|as|like|without|using only|with only)\b`,
		clauseStart+`only (?:respond|reply|answer) (?:in|with|using|as)\b`,
		clauseStart+`(?:address (?:me as|all|every)|refer to me as)\b`,
	),
}

// style matches the language, the voice and the units of answers.
var style = pattern{
	words{"person", "voice", "tone", "style", "english", "german", "french", "spanish", "italian", "dutch",
		"portuguese", "like a", "spelling", "language", " units"},
	either(
		clauseStart+`(?:speak|talk|write)(?: to me| only)* (?:in (?:the |a |an )?(?:\w+ )?(?:person|voice|tone|style|english|german|french|spanish|italian|dutch|portuguese)|like an?)\b`,
		clauseStart+`(?:use|write in|stick to|stick with) (?:(?:british|american|uk|us|plain|simple) (?:english|spelling|language)|(?:metric|imperial|si) units)\b`,
	),
}

// forbids matches what must not be done to files, commits and programs.
var forbids = pattern{
	words{"don't", "dont", "do not", "never"},
	either(
		clauseStart+not+
			` (?:\w+ly |just |even |ever )?(?:touch|commit|push|modify|edit|overwrite|refactor|reformat|rebase|merge|deploy|amend|squash|force-push|hard-?code|mock|stub|bump)\b`,
		clauseStart+not+
			` (?:use|add|write|install|introduce|import) (?:any |external |third[- ]party |new |more |global ){0,3}(?:librar(?:y|ies)|dependenc(?:y|ies)|packages?|mocks?|globals?|variables|semicolons?|tabs|comments?|frameworks?)\b`,
	),
}

// momentary matches words that limit a wish to the present.
var momentary = either(`\b(?:yet|for now|right now|this time|anything|that|it|him|her|me)\b[^,;]*$|\bfor the moment\b`)

// persona matches the assignment of a role.
var persona = pattern{
	words{"act as", "act like", "pretend", "you are", "you're", "the persona", "the role", "the voice", "the character",
		"roleplay", "role-play"},
	either(clauseStart +
		`(?:act (?:as|like) (?:an?|my|the|if you)\b|pretend (?:to be|that you|you(?:'re| are))\b|(?:imagine|assume|suppose)(?: that)? you(?:'re| are) (?:an?|my|the)\b|(?:adopt|assume|take on|play) the (?:persona|role|voice|character)\b|role-?play as\b)`),
}

// nickname matches how the user wants to be called.
var nickname = pattern{
	words{"call me"},
	either(`^(?:(?:please|also|and|but|so|just|you (?:can|may)),?\s+)*call me\s+["']?\p{L}+["']?(?:[.,!;]|$| from| instead| please)`),
}

// questions matches sentences that are questions from their first word on. "I
// prefer examples, so can you …?" is not one of them: it states a
// preference.
var questions = regexp.MustCompile(`(?i)^(?:and |but |so )?(?:what|which|who|why|how|where|is|are|was|were|do|does|did|can|could|would|will|should|has|have|if|remember)\b.*\?$`)

// tells matches sentences that report something in the words of an
// instruction.
var tells = either(
	`^(?:(?:when(?:ever)?|if|every time|each time|any time) i (?:ask|request)\b).*\b(?:it|server|api|app|page|endpoint|tool|script|program|service|site)\b.*\b(?:fails?|failed|returns?|returned|crash(?:es|ed)?|gives?|gave|errors?|throws?|hangs?|shows?)\b`,
	`\b(?:when(?:ever)?|if) i (?:ask|request)\b[^,]*\b(?:i get|i got|it (?:fails|crashes|hangs))\b`,
	`\bno matter what i (?:do|did|try|tried)\b`,
	`\bunder no circumstances (?:does|did|do|is|was|will it)\b`,
	`\byou can never be\b`,
	`\bcall me (?:crazy|maybe|paranoid|old|stupid|dumb|silly|naive|cynical|biased|back|later|tomorrow|when)\b`,
)

// prefers matches preferences.
var prefers = pattern{
	words{"prefer", "rather", "like", "love", "hate", "stand", "enjoy", "allergic", "vegetarian", "vegan", "a fan"},
	either(
		`\bi(?:'d| would)? (?:really |much |generally |usually |strongly |also |always |personally )?prefer\b`,
		`\bmy (?:\w+ )?preferences?\b|\bpreferred\b|\bpreference for\b`,
		`\bi(?:'d| would) rather\b|\bi(?:'d| would) (?:much )?(?:like|love) (?:it )?(?:if|when)\b`,
		`\bi (?:really )?(?:like|love|hate|dislike|don'?t like|can'?t stand|enjoy) (?:it when|when|to|using|having)\b`,
		`\bi(?:'m| am) (?:allergic|vegetarian|vegan|not a fan|a fan)\b`,
	),
}
