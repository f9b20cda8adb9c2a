package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
	"golang.org/x/term"
)

// Streams are the ends of a process.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	Terminal bool // Err is a person's terminal: progress bars are welcome
	Screen   bool // Out is one
	Colour   bool // Out is one, and NO_COLOR is not set
	Columns  int  // of Out, if it is one; zero: not known
}

// Standard is this process's own ends.
func Standard() Streams {
	person := func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" }
	screen, columns := person(os.Stdout), 0
	if screen {
		columns, _, _ = term.GetSize(int(os.Stdout.Fd())) // zero with an error
	}
	return Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Terminal: person(os.Stderr),
		Screen:   screen,
		Colour:   screen && os.Getenv("NO_COLOR") == "",
		Columns:  columns,
	}
}

// Program is a command line. Grammar is a pointer to a kong grammar whose commands have a method Run; what they take
// as arguments is bound by Bind.
type Program struct {
	Name        string
	Description string
	Grammar     any
	Vars        map[string]string // for ${…} in the grammar's tags
	Streams     Streams
	Bind        []any // values for the commands' Run methods, by type
}

// Exit statuses.
const (
	StatusOK       = 0
	StatusError    = 1
	StatusUsage    = 2
	StatusDegraded = 3
	StatusFailed   = 4
)

// Status ends a command with an exit status and no message.
type Status int

func (s Status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// UsageError is wrong usage that only the command itself could see.
type UsageError struct{ Message string }

func (e *UsageError) Error() string { return e.Message }

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

type exited int

// Run parses args, runs the command and returns the exit status.
func (p Program) Run(ctx context.Context, args []string) (status int) {
	defer func() {
		if r := recover(); r != nil {
			code, ok := r.(exited) // --help and --version leave through kong's Exit
			if !ok {
				panic(r)
			}
			status = int(code)
		}
	}()
	parser, err := kong.New(p.Grammar,
		kong.Name(p.Name),
		kong.Description(p.Description),
		kong.Vars(p.Vars),
		kong.Writers(p.Streams.Out, p.Streams.Err),
		kong.Exit(func(code int) { panic(exited(code)) }),
		kong.DefaultEnvars("FOURFOLD"),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(append([]any{p.Streams}, p.Bind...)...),
	)
	if err != nil {
		panic(err) // a mistake in the grammar itself
	}
	command, err := parser.Parse(args)
	if err != nil {
		return p.wrongUsage(err)
	}
	return p.status(command.Run())
}

func (p Program) status(err error) int {
	if err == nil {
		return StatusOK
	}
	if s, ok := errors.AsType[Status](err); ok {
		return int(s)
	}
	if u, ok := errors.AsType[*UsageError](err); ok {
		return p.wrongUsage(u)
	}
	p.say(err)
	return StatusError
}

func (p Program) wrongUsage(err error) int {
	p.say(err)
	fmt.Fprintf(p.Streams.Err, "Try: %s --help\n", p.Name)
	return StatusUsage
}

func (p Program) say(err error) {
	for line := range strings.Lines(strings.TrimRight(Text(err), "\n")) {
		fmt.Fprintf(p.Streams.Err, "%s: %s\n", p.Name, strings.TrimRight(line, "\n"))
	}
}

// Interruptible is a context that ends at the first SIGINT or SIGTERM; the second one ends the process as usual.
func Interruptible(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
