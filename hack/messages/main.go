// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Command messages prints what users may read of the product: each string of pkg and cmd that has several words, with where it is, so that
// conditions, events, errors, logs and the output of the command line can be read in one sitting.
//
//	go run ./hack/messages pkg cmd
//
// Strings that are concatenated count as one. What is generated and tests are left out.
package main

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

func main() {
	out := bufio.NewWriter(os.Stdout)
	if err := printAll(out, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// printAll prints the messages below directories, in the order of their files.
func printAll(out io.Writer, directories []string) error {
	for _, directory := range directories {
		err := filepath.WalkDir(directory, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !handWritten(path) {
				return err
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			found, err := messages(path, content)
			for _, each := range found {
				if _, err := fmt.Fprintf(out, "%s:%d: %s\n", path, each.line, each.text); err != nil {
					return err
				}
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func handWritten(path string) bool {
	name := filepath.Base(path)
	return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "zz_generated") &&
		!strings.HasPrefix(name, "generated.") && !strings.Contains(filepath.ToSlash(path), "pkg/generated/")
}

// message is a text and the line on which it begins.
type message struct {
	line int
	text string
}

// severalWords tells texts from names, keys and formats.
var severalWords = regexp.MustCompile(`(?s)\pL{2,}\s.*\pL{2,}`)

// messages returns the texts of a file that have several words.
func messages(path string, content []byte) ([]message, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, path, content, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []message
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			node.Tag = nil
		case ast.Expr:
			text, is := textOf(node)
			if !is {
				return true
			}
			if severalWords.MatchString(text) {
				found = append(found, message{files.Position(node.Pos()).Line, strings.Join(strings.Fields(text), " ")})
			}
			return false
		}
		return true
	})
	return found, nil
}

// textOf returns the text of a string, or of strings and expressions that are concatenated; an expression is shown as "…".
func textOf(node ast.Expr) (string, bool) {
	switch node := node.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(node.Value)
		return text, node.Kind == token.STRING && err == nil
	case *ast.BinaryExpr:
		if node.Op != token.ADD {
			return "", false
		}
		left, isLeft := textOf(node.X)
		right, isRight := textOf(node.Y)
		if !isLeft && !isRight {
			return "", false
		}
		if !isLeft {
			left = "…"
		}
		if !isRight {
			right = "…"
		}
		return left + right, true
	}
	return "", false
}
