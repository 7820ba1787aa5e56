// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Command language checks that texts use the vocabulary of docs/style.md. It reads the files that git tracks in the working
// directory and three lists beside this file:
//
//	words.txt    expressions to avoid and what to write instead
//	allowed.txt  where an expression is correct, and why
//	pending.txt  directories and files that are not translated yet; they are not checked
//
// It fails if a checked file uses an expression to avoid, and if an entry of allowed.txt or pending.txt is no longer needed.
// With -pending it prints what remains to be translated in pending.txt, or in the given paths.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	pending := flag.Bool("pending", false, "print the findings in the paths of pending.txt that start with one of the arguments")
	flag.Parse()
	var err error
	if *pending {
		err = printPending(flag.Args())
	} else {
		err = check()
	}
	if err != nil {
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
	problems, checked, err := lists.check(paths, os.ReadFile)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return errors.New("texts do not follow docs/style.md:\n" + strings.Join(problems, "\n"))
	}
	fmt.Printf("%d of %d files use the vocabulary of docs/style.md, the others are in %d entries of hack/language/pending.txt\n",
		checked, len(paths), len(lists.pending))
	return nil
}

func printPending(prefixes []string) error {
	lists, err := readLists(filepath.Join("hack", "language"))
	if err != nil {
		return err
	}
	paths, err := trackedFiles()
	if err != nil {
		return err
	}
	for _, path := range paths {
		if !lists.isPending(path) || !hasAnyPrefix(path, prefixes) {
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, f := range lists.find(path, content) {
			fmt.Println(f)
		}
	}
	return nil
}

func hasAnyPrefix(path string, prefixes []string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return len(prefixes) == 0
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
