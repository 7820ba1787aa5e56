// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package configfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// Print writes object as YAML: apiVersion and kind, then its fields in the order of the type. Decode can read the output.
func Print(w io.Writer, object any) error {
	data, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("printing %T: %w", object, err)
	}
	tokens := json.NewDecoder(bytes.NewReader(data))
	tokens.UseNumber()
	root, err := nextNode(tokens)
	if err != nil {
		return fmt.Errorf("printing %T: %w", object, err)
	}
	// metav1.TypeMeta has them the other way round than everybody writes them.
	if c := root.Content; len(c) >= 4 && c[0].Value == "kind" && c[2].Value == "apiVersion" {
		c[0], c[1], c[2], c[3] = c[2], c[3], c[0], c[1]
	}
	encoder := yaml.NewEncoder(w)
	encoder.SetIndent(2)
	if err := encoder.Encode(root); err != nil {
		return fmt.Errorf("printing %T: %w", object, err)
	}
	return encoder.Close()
}

// nextNode turns the next JSON value into YAML. Going through JSON keeps the names and the order that the
// JSON tags give; parsing JSON as YAML would not do, the two disagree about some line breaks.
func nextNode(tokens *json.Decoder) (*yaml.Node, error) {
	token, err := tokens.Token()
	if err != nil {
		return nil, err
	}
	node := &yaml.Node{}
	switch token := token.(type) {
	case json.Delim:
		node.Kind = yaml.SequenceNode
		if token == '{' {
			node.Kind = yaml.MappingNode
		}
		for tokens.More() {
			child, err := nextNode(tokens)
			if err != nil {
				return nil, err
			}
			node.Content = append(node.Content, child)
		}
		_, err = tokens.Token()
		return node, err
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: token.String()}, nil
	default:
		return node, node.Encode(token)
	}
}
