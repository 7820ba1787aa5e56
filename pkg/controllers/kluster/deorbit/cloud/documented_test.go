// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Each reason for which something is left over begins with words that the table in docs/deorbit.md has.
func TestReasonsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../../../docs/deorbit.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "\n## What is left over\n")
	table, _, ends := strings.Cut(table, "\n## ")
	if !found || !ends {
		t.Fatal("docs/deorbit.md has no section \"What is left over\"")
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	reasons := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			call, isCall := node.(*ast.CallExpr)
			if !isCall || len(call.Args) != 2 {
				return true
			}
			if method, isMethod := call.Fun.(*ast.SelectorExpr); !isMethod || method.Sel.Name != "remain" && method.Sel.Name != "stick" {
				return true
			}
			if words := firstWords(call.Args[1]); words != "" {
				reasons++
				if !strings.Contains(table, words) {
					t.Errorf("%s: the reason %q has no row in docs/deorbit.md", name, words)
				}
			}
			return true
		})
	}
	if reasons < 10 {
		t.Errorf("found %d reasons in the code, want all of them", reasons)
	}
}

// maxWords is how many words of a reason the table has to have: it sums up reasons that differ later.
const maxWords = 4

// firstWords returns the text that an expression begins with, without what does not matter in a table; "" when it begins with a
// value.
func firstWords(e ast.Expr) string {
	for {
		sum, isSum := e.(*ast.BinaryExpr)
		if !isSum {
			break
		}
		e = sum.X
	}
	literal, isLiteral := e.(*ast.BasicLit)
	if !isLiteral || literal.Kind != token.STRING {
		return ""
	}
	text, err := strconv.Unquote(literal.Value)
	if err != nil {
		return ""
	}
	text, _, _ = strings.Cut(text, ": ")
	words := strings.Fields(text)
	return strings.TrimRight(strings.Join(words[:min(len(words), maxWords)], " "), ",")
}
