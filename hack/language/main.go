// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Command language checks that texts and names use the vocabulary of docs/style.md: comments and strings, the names that Go code
// declares, and the names of files. It reads the files that git tracks in the working directory and two lists beside this file:
//
//	words.txt    expressions to avoid and what to write instead
//	allowed.txt  where an expression is correct, and why
//
// It fails if a file uses an expression to avoid, and if an entry of allowed.txt is no longer needed.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	if err := check(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func check() error {
	lists, err := readLists(filepath.Join("hack", "language"))
	if err != nil {
		return err
	}
	paths, err := trackedFiles()
	if err != nil {
		return err
	}
	problems, err := lists.check(paths, os.ReadFile)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return errors.New("texts do not follow docs/style.md:\n" + strings.Join(problems, "\n"))
	}
	fmt.Printf("%d files use the vocabulary of docs/style.md\n", len(paths))
	return nil
}

// trackedFiles returns the paths of the files with text, including those that are not committed yet.
func trackedFiles() ([]string, error) {
	out, err := exec.CommandContext(context.Background(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		return nil, fmt.Errorf("list the files of git: %w", err)
	}
	var paths []string
	for path := range strings.SplitSeq(string(out), "\x00") {
		if !hasText(path) {
			continue
		}
		if _, err := os.Stat(path); err == nil { // A deleted file is listed until its deletion is committed.
			paths = append(paths, path)
		}
	}
	return paths, nil
}
