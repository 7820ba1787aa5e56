// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// pkg is a package with tests.
type pkg struct {
	path, dir string
	// files are the names of its test files.
	files []string
}

// list returns the packages with tests that the arguments name.
func list(ctx context.Context, packages []string) ([]pkg, error) {
	const format = `{{.ImportPath}}{{"\t"}}{{.Dir}}{{range .TestGoFiles}}{{"\t"}}{{.}}{{end}}{{range .XTestGoFiles}}{{"\t"}}{{.}}{{end}}`
	text, err := command(ctx, "go", append([]string{"list", "-f", format}, packages...)...)
	if err != nil {
		return nil, err
	}
	var found []pkg
	for line := range strings.Lines(text) {
		if fields := strings.Split(strings.TrimSpace(line), "\t"); len(fields) > 2 {
			found = append(found, pkg{path: fields[0], dir: fields[1], files: fields[2:]})
		}
	}
	return found, nil
}

// tests returns the names of the tests of a package: all of them, or those that changed since a commit.
func (p pkg) tests(ctx context.Context, since string) ([]string, error) {
	now := declarations{}
	for _, file := range p.files {
		text, err := os.ReadFile(filepath.Join(p.dir, file))
		if err != nil {
			return nil, err
		}
		if err := now.add(file, text); err != nil {
			return nil, err
		}
	}
	if since == "" {
		return now.tests(), nil
	}
	then := declarations{}
	names, err := command(ctx, "git", "-C", p.dir, "ls-tree", "--name-only", since, "./")
	if err != nil {
		return nil, err
	}
	for file := range strings.Lines(names) {
		file = strings.TrimSpace(file)
		if !strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := command(ctx, "git", "-C", p.dir, "show", since+":./"+file)
		if err != nil {
			return nil, err
		}
		if err := then.add(file, []byte(text)); err != nil {
			return nil, err
		}
	}
	return now.changed(then), nil
}

// declaration is a function, type, variable or constant at the top level of a package.
type declaration struct {
	// text is its source, of all methods and declarations of the same name.
	text string
	uses map[string]bool
	test bool
}

// declarations are those of the test files of a package, by name. Methods have their own name alone, as where they are called.
type declarations map[string]*declaration

// add adds the declarations of a file.
func (d declarations) add(file string, text []byte) error {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
	if err != nil {
		return fmt.Errorf("parse %s: %w", file, err)
	}
	for _, node := range parsed.Decls {
		source := string(text[set.Position(node.Pos()).Offset:set.Position(node.End()).Offset])
		switch node := node.(type) {
		case *ast.FuncDecl:
			added := d.named(node.Name.Name, source, node)
			added.test = added.test || node.Recv == nil && strings.HasPrefix(node.Name.Name, "Test") && node.Name.Name != "TestMain"
		case *ast.GenDecl:
			for _, spec := range node.Specs {
				source := string(text[set.Position(spec.Pos()).Offset:set.Position(spec.End()).Offset])
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					d.named(spec.Name.Name, source, spec)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						d.named(name.Name, source, spec)
					}
				}
			}
		}
	}
	return nil
}

// named adds a declaration with what it uses.
func (d declarations) named(name, source string, node ast.Node) *declaration {
	if d[name] == nil {
		d[name] = &declaration{uses: map[string]bool{}}
	}
	d[name].text += source + "\n"
	ast.Inspect(node, func(node ast.Node) bool {
		if identifier, ok := node.(*ast.Ident); ok {
			d[name].uses[identifier.Name] = true
		}
		return true
	})
	return d[name]
}

// tests returns the names of all tests, sorted.
func (d declarations) tests() []string {
	return slices.Sorted(func(yield func(string) bool) {
		for name, declared := range d {
			if declared.test && !yield(name) {
				return
			}
		}
	})
}

// changed returns the tests whose source differs from before, and then those that use, directly or not, what differs.
func (d declarations) changed(before declarations) []string {
	differs := map[string]bool{}
	for name, declared := range d {
		if before[name] == nil || before[name].text != declared.text {
			differs[name] = true
		}
	}
	first := slices.DeleteFunc(d.tests(), func(name string) bool { return !differs[name] })
	for grown := true; grown; {
		grown = false
		for name, declared := range d {
			if !differs[name] && slices.ContainsFunc(slices.Collect(maps.Keys(declared.uses)), func(used string) bool { return differs[used] }) {
				differs[name], grown = true, true
			}
		}
	}
	return append(first, slices.DeleteFunc(d.tests(), func(name string) bool { return !differs[name] || slices.Contains(first, name) })...)
}
