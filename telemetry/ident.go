package telemetry

// withheld stands where a value was that could have been content.
const withheld = "[content]"

// longestIdent is the most bytes that an identifier has.
const longestIdent = 128

// identBytes marks the bytes that identifiers are made of: run ids, flow, step, queue, provider and model names.
var identBytes = func() (set [256]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/@+-") {
		set[c] = true
	}
	return set
}()

// ident returns s if it is spelt like an identifier, withheld otherwise. Nothing that passes needs quoting in JSON or in a
// DogStatsD tag.
func ident(s string) string {
	if s == "" || isIdent(s) {
		return s
	}
	return withheld
}

// Identifier returns s if it is spelt like an identifier of this project, as run ids, flows, steps, queues, providers and
// models are, and [content] otherwise. It is for other ways out of the process than metrics and log.
func Identifier(s string) string { return ident(s) }

func isIdent(s string) bool {
	if s == "" || len(s) > longestIdent || !alphanumeric(s[0]) {
		return false
	}
	for i := range len(s) {
		if !identBytes[s[i]] {
			return false
		}
	}
	return true
}

// isPlain is stricter than isIdent, for strings of unknown origin: URLs and user@host are refused, since they may carry a
// password.
func isPlain(s string) bool {
	if !isIdent(s) {
		return false
	}
	for i := range len(s) {
		if s[i] == '@' || s[i] == '/' && i > 0 && s[i-1] == '/' {
			return false
		}
	}
	return true
}

func alphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
