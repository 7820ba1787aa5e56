// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

// source is what the comments and the constants of a package contain.
type source struct {
	types  map[string]*ast.TypeSpec
	docs   map[string]string
	values map[string][]string // of types that are strings
}

// readSource reads the files of a package, tests excepted.
func readSource(dir string) (*source, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	s := &source{types: map[string]*ast.TypeSpec{}, docs: map[string]string{}, values: map[string][]string{}}
	set := token.NewFileSet()
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(set, file, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, declaration := range parsed.Decls {
			if d, ok := declaration.(*ast.GenDecl); ok {
				s.add(d)
			}
		}
	}
	return s, nil
}

func (s *source) add(d *ast.GenDecl) {
	for _, each := range d.Specs {
		switch each := each.(type) {
		case *ast.TypeSpec:
			s.types[each.Name.Name], s.docs[each.Name.Name] = each, d.Doc.Text()
		case *ast.ValueSpec:
			kind, isNamed := each.Type.(*ast.Ident)
			if !isNamed || len(each.Values) != 1 {
				continue
			}
			if literal, ok := each.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
				s.values[kind.Name] = append(s.values[kind.Name], strings.Trim(literal.Value, `"`))
			}
		}
	}
}

// doc returns the comment of a field.
func (s *source) doc(structure, field string) (string, error) {
	spec, ok := s.types[structure]
	if !ok {
		return "", fmt.Errorf("there is no type %s", structure)
	}
	if fields, ok := spec.Type.(*ast.StructType); ok {
		for _, f := range fields.Fields.List {
			for _, name := range f.Names {
				if name.Name == field {
					return strings.Join(strings.Fields(f.Doc.Text()), " "), nil
				}
			}
		}
	}
	return "", fmt.Errorf("%s has no field %s", structure, field)
}

// section are the fields of a struct of the configuration.
type section struct {
	path, about string
	rows        [][]string
}

// configPage returns the page of the configuration file, whose types are in the directory.
func configPage(dir string) (string, error) {
	s, err := readSource(dir)
	if err != nil {
		return "", err
	}
	config := &v1alpha1.ControllerManagerConfiguration{}
	v1alpha1.SetObjectDefaults_ControllerManagerConfiguration(config)
	var sections []section
	if err := s.walk(reflect.ValueOf(config).Elem(), "", "", &sections); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(heading("The configuration file of groundskeeper-controller-manager"))
	b.WriteString("\nKind `" + v1alpha1.ControllerManagerConfigurationKind + "` of `" + v1alpha1.SchemeGroupVersion.String() +
		"`. How it is read, and what is printed: [configuration](../configuration.md).\n")
	for _, each := range sections {
		if len(each.rows) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n%s", each.path, each.about, table([]string{"field", "type", "default", "meaning"}, each.rows))
	}
	return b.String(), nil
}

// walk describes the fields of a struct, and then those of the structs in it.
func (s *source) walk(value reflect.Value, path, about string, sections *[]section) error {
	index := len(*sections)
	*sections = append(*sections, section{path: path, about: about})
	return s.fields(value, path, index, sections)
}

func (s *source) fields(value reflect.Value, path string, index int, sections *[]section) error {
	for i := range value.NumField() {
		field := value.Type().Field(i)
		if field.Name == "TypeMeta" {
			continue
		}
		if field.Anonymous {
			if err := s.fields(value.Field(i), path, index, sections); err != nil {
				return err
			}
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		at := strings.TrimPrefix(path+"."+name, ".")
		about, err := s.doc(value.Type().Name(), field.Name)
		if err != nil {
			return err
		}
		own := value.Type().PkgPath()
		if field.Type.Kind() == reflect.Struct && field.Type.PkgPath() == own {
			if err := s.walk(value.Field(i), at, about, sections); err != nil {
				return err
			}
			continue
		}
		fallback, err := json.Marshal(value.Field(i).Interface())
		if err != nil {
			return err
		}
		literal := string(fallback)
		if value.Field(i).Kind() == reflect.Pointer && value.Field(i).IsNil() || literal == `""` {
			literal = ""
		}
		(*sections)[index].rows = append((*sections)[index].rows, []string{code(name), s.kind(field.Type), code(literal), text(about)})
		if element := field.Type; element.Kind() == reflect.Slice && element.Elem().Kind() == reflect.Struct && element.Elem().PkgPath() == own {
			of := strings.Join(strings.Fields(s.docs[element.Elem().Name()]), " ")
			if err := s.walk(reflect.New(element.Elem()).Elem(), at+"[]", of, sections); err != nil {
				return err
			}
		}
	}
	return nil
}

// kind returns the readable name of a type.
func (s *source) kind(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Pointer:
		return s.kind(t.Elem())
	case t.Name() == "Duration":
		return "duration"
	case t.Name() == "Quantity":
		return "quantity"
	case t.Kind() == reflect.Slice:
		return "list of " + s.kind(t.Elem())
	case t.Kind() == reflect.Struct:
		return t.Name()
	case t.Kind() == reflect.Bool:
		return "bool"
	case t.Kind() == reflect.String:
		if values := s.values[t.Name()]; len(values) > 0 {
			return "one of " + strings.Join(apply(values, code), ", ")
		}
		return "string"
	default:
		return t.Kind().String()
	}
}

func apply(values []string, f func(string) string) []string {
	var all []string
	for _, v := range values {
		all = append(all, f(v))
	}
	return all
}

// sorted returns the keys of a map, in order.
func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
