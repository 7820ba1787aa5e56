// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pageSize is how many objects are asked for at a time.
const pageSize = 500

func newStatus(c *command) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show what is stale, draining, deorbiting, drifting or in trouble, in all namespaces or one",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.status(cmd.Context(), cmd.Flags().Changed("namespace"))
		},
	}
}

// status prints a line for each kind and for each object about which there is something to say.
func (c *command) status(ctx context.Context, one bool) error {
	namespace := ""
	if one {
		var err error
		if namespace, err = c.namespace(); err != nil {
			return err
		}
	}
	for _, k := range kinds() {
		if namespace != "" && k.global {
			continue
		}
		objects, err := c.all(ctx, k, namespace)
		if apierrors.IsForbidden(err) {
			c.out.print("%-18s %s\n", k.title, "you may not list them")
			continue
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", k.title, err)
		}
		c.printKind(k, objects)
	}
	if namespace != "" {
		return nil
	}
	return c.policies(ctx)
}

// all lists the objects of a kind.
func (c *command) all(ctx context.Context, k kind, namespace string) ([]client.Object, error) {
	var all []client.Object
	for next := ""; ; {
		list := k.list()
		if err := c.client.List(ctx, list, client.InNamespace(namespace), client.Limit(pageSize), client.Continue(next)); err != nil {
			return nil, err
		}
		err := meta.EachListItem(list, func(item runtime.Object) error {
			all = append(all, item.(client.Object))
			return nil
		})
		if err != nil {
			return nil, err
		}
		if next = list.GetContinue(); next == "" {
			return all, nil
		}
	}
}

// printKind prints how many there are, and those with findings.
func (c *command) printKind(k kind, objects []client.Object) {
	var lines []string
	warnings := 0
	for _, object := range objects {
		all := k.findings(object, c.clock.Now())
		for _, f := range all {
			lines = append(lines, c.line(nameOf(object), f))
		}
		if slices.ContainsFunc(all, func(f finding) bool { return f.level == warning }) {
			warnings++
		}
	}
	summary := c.out.in(green, "nothing to say")
	switch {
	case len(objects) == 0:
		summary = ""
	case warnings > 0:
		summary = c.out.in(red, fmt.Sprintf("%d in trouble", warnings))
	case len(lines) > 0:
		summary = c.out.in(yellow, "at work")
	}
	c.out.print("%s\n", strings.TrimRight(fmt.Sprintf("%s %6d  %s", c.out.in(bold, fmt.Sprintf("%-18s", k.title)), len(objects), summary), " "))
	for _, line := range lines {
		c.out.print("%s\n", line)
	}
}

// line is a finding of an object.
func (c *command) line(name string, f finding) string {
	mark := c.out.in(yellow, "~")
	if f.level == warning {
		mark = c.out.in(red, "!")
	}
	return fmt.Sprintf("  %s %-30s %s", mark, name, f.text)
}

func nameOf(object client.Object) string {
	return strings.TrimPrefix(object.GetNamespace()+"/"+object.GetName(), "/")
}
