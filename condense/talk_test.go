package condense_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/oriel-context/oriel/chat"
	"github.com/oriel-context/oriel/condense"
)

// friends is a record of a talk between two people.
func friends() []chat.Message {
	return span(
		user("[9:10 am on 4 March, 2025] Ann: Hey Ben! Good to see you!"),
		assistant("Ben: Hi Ann! How have you been?"),
		user("Ann: Busy! Last week I started a course in beekeeping. The bees are wild."),
		assistant("Ben: Wow, beekeeping! Who teaches it?"),
		user("Ann: Mrs Okafor from Port Ellen. I still need a hive, and I can't decide between wood and straw."),
		assistant("Ben: My uncle has a spare hive. I'll bring you his old one on Saturday. Don't forget to take some nice pictures!"),
		user("Ann: You are the best. Never stop being you!"),
		assistant("Ben: The bees will love that hive. Keep in mind that they need rest, too."),
		user("Ann: Yep ttyl!"),
		assistant("Ben: Bye, take care!"),
	)
}

// SPEC D7: the digest of a talk has what a person would write down, and no small talk.
func TestDigestOfATalkBetweenFriends(t *testing.T) {
	got := digest(t, "", 600, friends())
	wants(t, got,
		"About:\n- Ann and Ben on hive, beekeeping, bees\n",
		"Agreed:\n- Ben: I'll bring you his old one on Saturday.",
		"Open:\n- Ann: I still need a hive, and I can't decide between wood and straw.",
		"Port Ellen",
		"- 4 March, 2025, Ann: Last week I started a course in beekeeping.",
		"not Task", "not Decisions", "not Reported", "not ttyl", "not Hey", "not pictures", "not Never stop",
		"not Keep in mind", "not Bye", "not How have you")
	if n := count(got); n > 120 {
		t.Errorf("%d tokens:\n%s", n, got)
	}
}

// SPEC D7: of a chat with an assistant, what the user wants and told the assistant to do.
func TestDigestOfAChatWithAnAssistant(t *testing.T) {
	got := digest(t, "", 600,
		user("Hi! Can you help me plan a garden on a roof in Lisbon?"),
		assistant("Certainly! Here are ten steps.\n\n1. Measure the roof.\n2. Ask Maria Santos of the city council.\n\nWould you like more details?"),
		user("Always give prices in euros when I ask about plants. I've decided to grow tomatoes and beans first."),
		assistant("Understood. Tomatoes need sun. Shall I make a list of seeds?"),
		user("yes, please"),
		assistant("Here is the list."),
		user("The roof must be ready by May 12, because my sister Clara visits me. Which tomatoes grow fastest on a roof?"),
		assistant("Cherry tomatoes. Which side of the roof gets the sun in the morning?"),
	)
	wants(t, got,
		"tomatoes", "roof",
		"- user: Can you help me plan a garden on a roof in Lisbon?", "- user: Which tomatoes grow fastest on a roof?",
		"Agreed:\n", "- user: Always give prices in euros when I ask about plants.",
		"- user: I've decided to grow tomatoes and beans first.",
		"- assistant asked: Shall I make a list of seeds? user: yes, please",
		"Open:\n- assistant asked: Which side of the roof gets the sun in the morning?",
		"Lisbon", "not Task", "not Maria Santos", "not more details")
	wants(t, digest(t, "", 600, user("The roof must be ready by May 12, because my sister Clara visits me."),
		assistant("It will be."), user("The seeds have to be here by the end of the week."), assistant("They will.")),
		"Names and dates:\n", "- user: The roof must be ready by May 12, because my sister Clara visits me.",
		"- user: The seeds have to be here by the end of the week.", "Clara")
}

// SPEC D7: where nothing is worth saying, there is no digest, and the caller's marker says
// how much was left out.
func TestSmallTalkHasNoDigest(t *testing.T) {
	small := span(user("Ann: Hey Ben!"), assistant("Ben: Hi Ann! How are you?"), user("Ann: Great, thanks! And you?"),
		assistant("Ben: All good here."), user("Ann: Yep ttyl!"), assistant("Ben: Bye!"))
	if got := digest(t, "", 600, small); got != "" {
		t.Errorf("a digest of small talk:\n%s", got)
	}
	if _, err := condense.Run(context.Background(), condense.Digest{},
		condense.Input{Messages: small, Count: count}); !errors.Is(err, condense.ErrEmpty) {
		t.Errorf("got %v", err)
	}
	if got := digest(t, "", 600, user("Thanks!"), assistant("You are welcome. Is there anything else?"),
		user("No, bye")); got != "" {
		t.Errorf("a digest of thanks:\n%s", got)
	}
}

// SPEC B3: digests of a talk are merged section by section, also those in which earlier
// versions listed a talk as work.
func TestDigestsOfATalkAreMerged(t *testing.T) {
	first := digest(t, "", 600, friends())
	again := digest(t, condense.Header(condense.KindDigest, 10)+"\n"+first, 600,
		user("[1 April, 2025] Ann: The hive is on the balcony. We'll open it on Sunday with Omar."),
		assistant("Ben: The bees like the balcony! Who is Omar?"), user("Ann: A friend from the course."))
	wants(t, again, "- Ann and Ben on ", "bees", "hive", "I'll bring you his old one on Saturday.",
		"We'll open it on Sunday with Omar.", "Port Ellen", "Omar", "not Oriel", "not Earlier")
	for _, title := range []string{"About:", "Agreed:", "Names and dates:"} {
		if strings.Count(again, title) != 1 {
			t.Errorf("%q %d times:\n%s", title, strings.Count(again, title), again)
		}
	}
	old := "Task:\n- Can you plan a garden on the roof?\n- Yep ttyl!\nDecisions:\n- user: Never mention the neighbours.\n- user: It's not always easy.\nReported:\n- Sure, here you are."
	wants(t, digest(t, old, 600, user("Which plants need no water?"), assistant("Succulents.")),
		"- user: Can you plan a garden on the roof?", "- user: Never mention the neighbours.",
		"- user: Which plants need no water?", "not ttyl", "not easy", "not here you are", "not Task")
}

// A talk that follows work is part of the work, and work that follows a talk keeps what was
// agreed.
func TestTalkAndWorkFollowEachOther(t *testing.T) {
	work := digest(t, "", 600, user("Port the importer."),
		did("Edit", `{"file_path":"a.go","old_string":"x","new_string":"y"}`, "ok"), assistant("Ported."))
	wants(t, digest(t, work, 600, user("Now look at the exporter as well."), assistant("I will.")),
		"Task:\n- Port the importer.\n- Now look at the exporter as well.", "a.go: changed 1×", "not About")
	chatted := digest(t, "", 600, user("Always answer in one line. Can you port an importer?"), assistant("I can."))
	wants(t, digest(t, chatted, 600, user("Then do it."),
		did("Edit", `{"file_path":"a.go","old_string":"x","new_string":"y"}`, "ok")),
		"Agreed:\n- user: Always answer in one line.", "About:\n- user: Can you port an importer?",
		"Files changed:\n- a.go: changed 1×")
}

func TestTalksInOtherLanguages(t *testing.T) {
	got := digest(t, "", 600, user("Kannst du mir einen Garten auf dem Dach planen? Nenne niemals Preise in Dollar."),
		assistant("Gern."), user("我们决定使用协调世界时。"), assistant("好的。"))
	wants(t, got, "- user: Kannst du mir einen Garten auf dem Dach planen?", "- user: Nenne niemals Preise in Dollar.",
		"- user: 我们决定使用协调世界时。")
}

// SPEC D7: a talk's digest stays short, however long the talk is.
func TestDigestOfALongTalkIsShort(t *testing.T) {
	var said []any
	for i := range 300 {
		said = append(said,
			user(fmt.Sprintf("Ann: On %d March, 2025 I went to harbour %d with Clara and we decided to paint boat %d.",
				i%28+1, i, i)), assistant("Ben: That harbour must have been lovely!"))
	}
	if got := digest(t, "", 2000, said...); count(got) > 120 || count(got) < 60 {
		t.Errorf("%d tokens:\n%s", count(got), got)
	}
}
