package flow

import "testing"

func TestTheNearestKnownWordIsSuggested(t *testing.T) {
	known := []string{"prompt", "needs", "output", "on_item_failure", "x1"}
	for word, want := range map[string]string{
		"promt": "prompt", "prompt": "prompt", "PROMPT": "prompt", "need": "needs", "outputs": "output", "on_item_fail": "on_item_failure",
		"x2": "x1", "x": "", "": "", "onward": "", "xy": "x1", "ouptut": "output", "nedes": "needs", "outputting": "output", "on_otem_falure_y": "", "deadline": "",
	} {
		if want != "" {
			want = `; did you mean "` + want + `"?`
		}
		if got := Suggest(word, known); got != want {
			t.Errorf("%s: %q, want %q", word, got, want)
		}
	}
}
