// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"
)

const (
	// patience is how long an act waits for a condition, and pollInterval how often it looks.
	patience     = 2 * time.Minute
	pollInterval = 200 * time.Millisecond
	// killGrace is how long the output of a command that was killed is waited for.
	killGrace = 5 * time.Second
)

// act is one part of the story.
type act struct {
	title string
	// tell is what happens, and page the page of the console that shows it.
	tell, page string
	steps      []step
}

// step is something that an act does. It fails when what is printed is not what it has to be.
type step func(ctx context.Context, p *player) error

// player shows acts, and runs their commands as a user would. What it prints is Markdown, which is a page of the documentation as well.
type player struct {
	out io.Writer
	// execute runs a command, and returns all that it wrote.
	execute func(ctx context.Context, command string) (string, error)
	// alone is set when no other programs exist, and nothing has to be done in their place.
	alone bool
	// pause waits until the user wants to see more.
	pause func(ctx context.Context) error
	// page gets what the page in docs has in addition: pictures. camera writes one into a file; without it there are none.
	page   io.Writer
	camera func(ctx context.Context, file, address, text string) error
	// number is that of the act.
	number int
}

// play shows the acts.
func (p *player) play(ctx context.Context, acts []act) error {
	p.print("# The life of a cluster\n\nThis is what `make demo` shows ([development.md](development.md#a-demonstration)).\n")
	for i, a := range acts {
		p.number = i + 1
		p.print("\n## Act %d: %s\n\n%s\n\nIn `kubectl groundskeeper console`: %s.\n", i+1, a.title, a.tell, a.page)
		for _, s := range a.steps {
			if err := s(ctx, p); err != nil {
				return fmt.Errorf("act %d (%s): %w", i+1, a.title, err)
			}
		}
		if i < len(acts)-1 {
			if err := p.pause(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// show prints the output of a command.
func (p *player) show(output string) {
	for line := range strings.Lines(output) {
		p.print("%s\n", strings.TrimRight("    "+line, " \n"))
	}
}

func (p *player) print(format string, values ...any) { _, _ = fmt.Fprintf(p.out, format, values...) }

// run shows a command and its output, which must have what the expressions match.
func run(command string, want ...string) step {
	matches := checks(command, want)
	return func(ctx context.Context, p *player) error {
		p.print("\n    $ %s\n", command)
		output, err := p.execute(ctx, command)
		p.show(output)
		if err != nil {
			return fmt.Errorf("%s: %w", command, err)
		}
		return matches(output)
	}
}

// rejected is run for a command that has to fail.
func rejected(command string, want ...string) step {
	matches := checks(command, want)
	return func(ctx context.Context, p *player) error {
		p.print("\n    $ %s\n", command)
		output, err := p.execute(ctx, command)
		p.show(output)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil {
			return fmt.Errorf("%s: it succeeded, want a rejection", command)
		}
		return matches(output)
	}
}

// await is run for a command that is repeated until its output is as wanted.
func await(condition, command string, want ...string) step {
	matches := checks(command, want)
	return func(ctx context.Context, p *player) error {
		p.print("\nWaiting until %s:\n\n    $ %s\n", condition, command)
		var output string
		err := until(ctx, func(ctx context.Context) error {
			var err error
			if output, err = p.execute(ctx, command); err != nil {
				return err
			}
			return matches(output)
		})
		p.show(output)
		if err != nil {
			return fmt.Errorf("waiting until %s: %w", condition, err)
		}
		return nil
	}
}

// look says what to look at.
func look(text string) step {
	return func(_ context.Context, p *player) error {
		p.print("\n→ %s\n", text)
		return nil
	}
}

// picture adds a picture of the console to the page in docs: that of an address, when it shows a text.
func picture(address, text string) step {
	return func(ctx context.Context, p *player) error {
		if p.camera == nil {
			return nil
		}
		file := fmt.Sprintf("screenshots/act-%d.png", p.number)
		_, _ = fmt.Fprintf(p.page, "\n![The console in act %d](%s)\n", p.number, file)
		return p.camera(ctx, file, address, text)
	}
}

// behind does what other programs would do in a real installation, and says so.
func behind(text string, do func(ctx context.Context) error) step {
	return func(ctx context.Context, p *player) error {
		p.print("\n(%s)\n", text)
		if p.alone {
			return nil
		}
		return do(ctx)
	}
}

// shell returns a function that runs a command in a shell. The end of the context kills it with all its children.
func shell(environment []string) func(ctx context.Context, command string) (string, error) {
	return func(ctx context.Context, command string) (string, error) {
		bash := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", command)
		bash.Env = environment
		bash.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		bash.Cancel = func() error { return syscall.Kill(-bash.Process.Pid, syscall.SIGKILL) }
		bash.WaitDelay = killGrace
		output, err := bash.CombinedOutput()
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return string(output), err
	}
}

// checks returns a function that fails unless the output of a command has what all expressions match, and nothing that one with a !
// before it matches.
func checks(command string, want []string) func(output string) error {
	compiled := make([]*regexp.Regexp, 0, len(want))
	for _, expression := range want {
		compiled = append(compiled, regexp.MustCompile(strings.TrimPrefix(expression, "!")))
	}
	return func(output string) error {
		for i, expression := range want {
			if compiled[i].MatchString(output) == strings.HasPrefix(expression, "!") {
				return fmt.Errorf("the output of %s does not match %q:\n%s", command, expression, strings.TrimSpace(output))
			}
		}
		return nil
	}
}

// until waits until a condition reports no error, and returns the last one when it was waited for too long.
func until(ctx context.Context, condition func(ctx context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	var last error
	for {
		now := condition(limited)
		if now == nil {
			return nil
		}
		// An attempt that was cut off by the end of the time has less information than the one before.
		if last == nil || limited.Err() == nil {
			last = now
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-limited.Done():
			return fmt.Errorf("not within %s: %w", patience, last)
		case <-ticker.C:
		}
	}
}

// lines returns a pause that lasts until the user presses Enter.
func lines(in io.Reader, out io.Writer) func(ctx context.Context) error {
	pressed := make(chan error)
	go func() { // it ends with the process: a read of a terminal cannot be interrupted
		for {
			pressed <- readLine(in)
		}
	}()
	return func(ctx context.Context) error {
		_, _ = fmt.Fprint(out, "\nEnter continues, Ctrl-C ends. ")
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-pressed:
			if errors.Is(err, io.EOF) {
				return errors.New("there is nobody who presses Enter: AUTO=1 make demo shows all acts without a pause")
			}
			return err
		}
	}
}

// readLine reads to the end of a line, and nothing beyond it.
func readLine(in io.Reader) error {
	letter := make([]byte, 1)
	for !bytes.Equal(letter, []byte("\n")) {
		if _, err := in.Read(letter); err != nil {
			return err
		}
	}
	return nil
}
