// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"groundskeeper.io/groundskeeper/docs"
)

// Each reason for which something is left over has a remedy in the tables of docs/deorbit.md, which the plugin prints.
func TestReasonsAreDocumented(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	reports := []string{"remain", "stick", "stand", "undecide"}
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
			if method, isMethod := call.Fun.(*ast.SelectorExpr); !isMethod || !slices.Contains(reports, method.Sel.Name) {
				return true
			}
			if text := example(call.Args[1]); strings.ContainsAny(text, " ") {
				reasons++
				if _, remedy := docs.LeftoverRemedy(text); remedy == "" {
					t.Errorf("%s: the reason %q has no row in docs/deorbit.md", name, text)
				}
			}
			return true
		})
	}
	if reasons < 15 {
		t.Errorf("found %d reasons in the code, want all of them", reasons)
	}
}

// example returns a text that an expression can have: its literals, and X for each value.
func example(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return example(e.X) + example(e.Y)
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil {
			return text
		}
	case *ast.Ident:
		if text, known := map[string]string{"waiting": waiting, "unchecked": unchecked}[e.Name]; known {
			return text
		}
	}
	return "X"
}
