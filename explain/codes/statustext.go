package codes

import (
	"strconv"
	"strings"
	"unicode"
)

// vague are texts of libibverbs that also occur in sentences about other things.
var vague = map[string]bool{
	"success": true, "fatal error": true, "general error": true, "aborted error": true, "tm error": true,
}

// StatusByText returns the status that a text names: by the constant (IBV_WC_RETRY_EXC_ERR(12),
// RETRY_EXC_ERR), by its number, by the text of libibverbs anywhere in it, or by the words that UCX
// and the kernel use instead. Case and punctuation don't matter. The longest match decides.
func StatusByText(text string) (WorkStatus, bool) {
	w := words(text)
	if n, err := strconv.ParseInt(strings.TrimSpace(text), 0, 32); err == nil {
		return Status(int(n))
	}
	best, length := WorkStatus{}, 0
	consider := func(s WorkStatus, phrase string) {
		if len(phrase) > length && hasPhrase(w, phrase) {
			best, length = s, len(phrase)
		}
	}
	for _, s := range statuses {
		name := words(strings.TrimPrefix(s.Name, "IBV_"))
		short := strings.TrimPrefix(name, "wc ")
		consider(s, name)
		if s.Number != 0 { // SUCCESS alone is no name
			consider(s, short)
		}
		if w == strings.TrimSuffix(short, " err") {
			return s, true
		}
		if phrase := words(s.Text); !vague[phrase] || w == phrase {
			consider(s, phrase)
		}
	}
	for _, a := range statusWords {
		if w == a.text || strings.HasPrefix(w, a.text+" on ") {
			consider(statuses[a.number], a.text)
		}
	}
	return best, length > 0
}

// words returns a text in lower case, with a blank in place of everything but letters and digits.
func words(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), " ")
}

// hasPhrase reports whether words contain the words of a phrase, in order and together.
func hasPhrase(text, phrase string) bool {
	return phrase != "" && strings.Contains(" "+text+" ", " "+phrase+" ")
}
