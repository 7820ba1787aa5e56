// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package soaktest

import (
	"fmt"
	"runtime"
	"testing"
)

// failing records the message of Fatalf instead of failing the test.
type failing struct {
	testing.TB
	message string
}

func (f *failing) Fatalf(format string, args ...any) {
	f.message = fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// roundsOf returns what Rounds returns with a text in the environment and 10 as the default, and the message of its failure.
func roundsOf(t *testing.T, text string) (rounds int, message string) {
	t.Setenv(Variable, text)
	f := &failing{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		rounds = Rounds(f, 10)
	}()
	<-done
	return rounds, f.message
}

func TestRounds(t *testing.T) {
	for _, c := range []struct {
		text    string
		rounds  int
		message string
	}{
		{"", 10, ""},
		{"1000", 1000, ""},
		{"1", 1, ""},
		{"0", 0, `SOAK="0" is not a positive number`},
		{"-1", 0, `SOAK="-1" is not a positive number`},
		{"1e3", 0, `SOAK="1e3" is not a positive number`},
	} {
		if rounds, message := roundsOf(t, c.text); rounds != c.rounds || message != c.message {
			t.Errorf("SOAK=%q: got %d rounds and failure %q, want %d and %q", c.text, rounds, message, c.rounds, c.message)
		}
	}
}
