// Package content keeps text and values from being logged by accident.
//
// Prompts, inputs, answers and what providers say belong to customers. They travel through the program
// in an [Of]: every printer shows it as [content], every encoder gets an error, and [Of.Reveal] is the
// one way out, which makes each place where content leaves a matter of searching for one word.
//
//	prompt := content.New("Dear …")
//	slog.Info("asked", "prompt", prompt) // prompt=[content]
//	send(prompt.Reveal())                // the text itself
//
// DO keep content wrapped as far down as it goes, and reveal it in the call that sends or computes.
//
// DO hold a type that contains content by fields of type Of, exported or not.
//
// DON'T put what Reveal returned into an error, a log field, a metric tag, a panic or a context: from
// there on nothing protects it.
//
// DON'T encode by wrapping: decode plain bytes and wrap the result with [New]; reveal before encoding.
//
// What the type cannot do: a debugger and package unsafe still reach the value, and nothing keeps the
// caller of Reveal from printing it.
package content
