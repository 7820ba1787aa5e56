// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// cloudNode is a node of a clouds.yaml. Values are read as written, because a password of digits is no number.
type cloudNode struct{ *yaml.Node }

// maxMerges is how many mappings may be merged into one by anchors, which may double with each level.
const maxMerges = 100

// parseClouds reads the one document of a clouds.yaml. No error quotes the text, which may have a password anywhere.
func parseClouds(text []byte) (cloudNode, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, second yaml.Node
	err := decoder.Decode(&document)
	if err == nil {
		if next := decoder.Decode(&second); !errors.Is(next, io.EOF) {
			if next == nil {
				return cloudNode{}, fmt.Errorf("line %d: begins a second YAML document: remove it", second.Line)
			}
			err = next
		}
	}
	switch {
	case errors.Is(err, io.EOF):
		return cloudNode{}, errors.New("is empty")
	case err != nil:
		return cloudNode{}, fmt.Errorf("%sis not YAML", linePrefix(err))
	case len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode:
		return cloudNode{}, errors.New("is not made like a clouds.yaml: it has no clouds")
	}
	return cloudNode{document.Content[0]}, nil
}

// yamlLine finds the one thing in a message of the parser that cannot be part of the text.
var yamlLine = regexp.MustCompile(`^yaml: line ([0-9]{1,6}):`)

func linePrefix(err error) string {
	if found := yamlLine.FindStringSubmatch(err.Error()); found != nil {
		return "line " + found[1] + ": "
	}
	return ""
}

type cloudField struct {
	name  string
	line  int
	value cloudNode
}

// fields returns the fields of a mapping, with those that are merged into it by <<. A field of the mapping itself wins over one
// that is merged, as YAML has it; one that is there twice is an error.
func (n cloudNode) fields() ([]cloudField, error) { return n.merged(new(maxMerges)) }

func (n cloudNode) merged(left *int) ([]cloudField, error) {
	node := n.resolved()
	if node.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: is not a mapping", node.Line)
	}
	if *left--; *left < 0 {
		return nil, fmt.Errorf("line %d: merges more than %d mappings", node.Line, maxMerges)
	}
	var own, merged []cloudField
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], cloudNode{node.Content[i+1]}
		switch {
		case key.Tag == "!!merge" || key.Value == "<<":
			sources := []*yaml.Node{value.resolved()}
			if sources[0].Kind == yaml.SequenceNode {
				sources = sources[0].Content
			}
			for _, source := range sources {
				more, err := cloudNode{source}.merged(left)
				if err != nil {
					return nil, err
				}
				merged = append(merged, more...)
			}
		case fieldNamed(own, key.Value) != nil:
			return nil, fmt.Errorf("line %d: repeats the field of line %d: remove one of them", key.Line, fieldNamed(own, key.Value).line)
		default:
			own = append(own, cloudField{key.Value, key.Line, value})
		}
	}
	for _, field := range merged {
		if fieldNamed(own, field.name) == nil {
			own = append(own, field)
		}
	}
	return own, nil
}

func fieldNamed(fields []cloudField, name string) *cloudField {
	for i := range fields {
		if fields[i].name == name {
			return &fields[i]
		}
	}
	return nil
}

// resolved returns what an alias stands for.
func (n cloudNode) resolved() *yaml.Node {
	node := n.Node
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node
}

// text returns a value as written; "" for null and for a blank one.
func (f cloudField) text() (string, error) {
	node := f.value.resolved()
	switch {
	case node.Kind != yaml.ScalarNode:
		return "", fmt.Errorf("line %d: %s is not a single value", f.line, f.name)
	case node.Tag == "!!null", strings.TrimSpace(node.Value) == "":
		return "", nil
	default:
		return node.Value, nil
	}
}
