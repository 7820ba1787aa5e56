// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/plugin/report"
	"groundskeeper.io/groundskeeper/pkg/process"
)

// completer is what kubectl runs to complete the arguments of its plugin groundskeeper.
const completer = "#!/bin/sh\nexec kubectl groundskeeper __complete \"$@\"\n"

func newCompletion(c *command) *cobra.Command {
	return &cobra.Command{
		Use:   "completion",
		Short: "Print the program by which kubectl completes the arguments of this plugin",
		Long: "Print the program by which kubectl completes the arguments of this plugin. It has to be on the PATH by the name\n" +
			"kubectl_complete-groundskeeper, and the completion of kubectl itself to be set up (kubectl completion --help).",
		Example: "  kubectl groundskeeper completion > ~/.local/bin/kubectl_complete-groundskeeper\n" +
			"  chmod +x ~/.local/bin/kubectl_complete-groundskeeper",
		Args:        process.NoArgs,
		Annotations: map[string]string{offline: "true"},
		Run:         func(*cobra.Command, []string) { c.out.print("%s", completer) },
	}
}

// completeNames completes NAME of a kind, and KIND/NAME where that was begun.
func (c *command) completeNames(title string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		for _, k := range kinds() {
			if k.title != title {
				continue
			}
			if len(args) == 0 && strings.Contains(begun, "/") {
				return c.completeObjects(k)(cmd, args, begun)
			}
			if len(args) == 0 {
				return c.names(cmd, k, ""), cobra.ShellCompDirectiveNoFileComp
			}
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

func (c *command) completeObjects(all ...kind) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		if !strings.Contains(begun, "/") {
			var prefixes []string
			for _, k := range all {
				prefixes = append(prefixes, k.names[0]+"/")
			}
			return prefixes, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
		k, _, err := parse([]string{begun + "x"}) // the name may be empty yet
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		typed, _, _ := strings.Cut(begun, "/")
		return c.names(cmd, k, typed+"/"), cobra.ShellCompDirectiveNoFileComp
	}
}

// names returns those of the objects of a kind behind a prefix, none if the cluster does not return them.
func (c *command) names(cmd *cobra.Command, k kind, prefix string) (names []string) {
	if c.client == nil && c.connect() != nil {
		return nil
	}
	namespace := ""
	if !k.global {
		var err error
		if namespace, err = c.namespace(); err != nil {
			return nil
		}
	}
	objects, err := report.All(cmd.Context(), c.client, k.list(), namespace)
	if err != nil {
		return nil
	}
	for _, object := range objects {
		names = append(names, prefix+client.ObjectKeyFromObject(object).Name)
	}
	return names
}
