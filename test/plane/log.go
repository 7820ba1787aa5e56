// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

// Error is the failure of one process, with what its log reports last.
type Error struct {
	Process string   // its name
	LogFile string   // its log
	Lines   []string // the last lines that its last life wrote there
	Err     error    // the message
}

// Error returns the failure in one line, followed by the lines of the log.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s failed: %v", e.Process, e.Err)
	if len(e.Lines) == 0 {
		fmt.Fprintf(&b, "; it wrote nothing to %s", e.LogFile)
		return b.String()
	}
	fmt.Fprintf(&b, "; the last lines of %s:", e.LogFile)
	for _, line := range e.Lines {
		b.WriteString("\n  " + line)
	}
	return b.String()
}

// Unwrap returns what happened.
func (e *Error) Unwrap() error { return e.Err }

// failureLines is how many lines of the log an Error shows.
const failureLines = 15

func (p *Process) failure(r run, err error) error {
	return &Error{Process: p.name, LogFile: p.logFile, Lines: tail(p.logFile, r.offset, failureLines), Err: err}
}

// LogFile returns the file that the process writes its output to, life after life.
func (p *Process) LogFile() string { return p.logFile }

// Tail returns the last n lines that the process wrote since its last start, fewer when there are fewer.
func (p *Process) Tail(n int) []string { return tail(p.logFile, p.run().offset, n) }

// tail reads the last n lines of the file, none before the offset, and no more than 256 KiB.
func tail(path string, offset int64, n int) []string {
	const most = 256 << 10
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close() //nolint:errcheck // it is only read
	info, err := file.Stat()
	if err != nil || info.Size() <= offset {
		return nil
	}
	start := max(offset, info.Size()-most)
	content := make([]byte, info.Size()-start)
	read, _ := file.ReadAt(content, start)
	text := string(bytes.TrimSpace(content[:read]))
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	return lines[max(0, len(lines)-n):]
}
