// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strings"
)

// identifier is a name that a Go file declares.
type identifier struct {
	name string
	line int
}

// identifiersOf returns the names that a Go file declares. Uses are not included: their declaration is checked where it is, or
// is in a library.
func identifiersOf(file string, content []byte) []identifier {
	if path.Ext(file) != ".go" || generated.Match(content) {
		return nil
	}
	files := token.NewFileSet()
	// The compiler reports syntax errors; what could be parsed is checked.
	parsed, _ := parser.ParseFile(files, file, content, parser.SkipObjectResolution)
	if parsed == nil {
		return nil
	}
	var found []identifier
	ast.Inspect(parsed, func(node ast.Node) bool {
		for _, name := range declaredBy(node) {
			if name != nil {
				found = append(found, identifier{name.Name, files.Position(name.Pos()).Line})
			}
		}
		return true
	})
	return found
}

// declaredBy returns the names that a node declares, without those of the nodes in it.
func declaredBy(node ast.Node) []*ast.Ident {
	switch n := node.(type) {
	case *ast.File:
		return []*ast.Ident{n.Name}
	case *ast.ImportSpec:
		return []*ast.Ident{n.Name}
	case *ast.TypeSpec:
		return []*ast.Ident{n.Name}
	case *ast.ValueSpec:
		return n.Names
	case *ast.FuncDecl:
		return []*ast.Ident{n.Name}
	case *ast.Field:
		return n.Names
	case *ast.LabeledStmt:
		return []*ast.Ident{n.Label}
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE {
			return names(n.Lhs...)
		}
	case *ast.RangeStmt:
		if n.Tok == token.DEFINE {
			return names(n.Key, n.Value)
		}
	}
	return nil
}

// names returns the expressions that are names.
func names(expressions ...ast.Expr) []*ast.Ident {
	var found []*ast.Ident
	for _, e := range expressions {
		if name, ok := e.(*ast.Ident); ok {
			found = append(found, name)
		}
	}
	return found
}

// part is a word of an identifier: an abbreviation (HTTP in HTTPServer), a word, or a number.
var part = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+|[0-9]+`)

// partsOf splits an identifier, or the name of a file, into its words.
func partsOf(name string) []word {
	var parts []word
	for start := 0; start < len(name); {
		at := part.FindStringIndex(name[start:])
		if at == nil {
			break
		}
		from, end := start+at[0], start+at[1]
		if end < len(name) && end-from > 1 && isUpper(name[end-1]) && isLower(name[end]) {
			end-- // The last capital begins the next word.
		}
		parts = append(parts, word{strings.ToLower(name[from:end]), from, end, true})
		start = end
	}
	return parts
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
