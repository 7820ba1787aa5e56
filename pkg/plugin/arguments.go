// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/process"
)

// oneObject accepts arguments that may name one object: NAME, KIND/NAME or KIND NAME.
func oneObject(cmd *cobra.Command, args []string) error {
	usage := strings.TrimSuffix(cmd.UseLine(), " [flags]")
	switch len(args) {
	case 0:
		return fmt.Errorf("name an object: %s", usage)
	case 1, 2:
		return nil
	}
	return fmt.Errorf("%q are several objects, name one: %s", strings.Join(args, " "), usage)
}

// namespaceExists returns an error for a namespace that does not exist, in which there would be nothing to report. What else is wrong, the
// requests of the command show.
func (c *command) namespaceExists(ctx context.Context) error {
	namespace, err := c.namespace()
	if err != nil {
		return err
	}
	if err := c.client.Get(ctx, client.ObjectKey{Name: namespace}, &corev1.Namespace{}); apierrors.IsNotFound(err) {
		return fmt.Errorf("namespace %s (-n) does not exist: kubectl get namespaces", namespace)
	}
	return nil
}

// completeNamespaces completes the value of -n.
func (c *command) completeNamespaces(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	if c.client == nil && c.connect() != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var namespaces corev1.NamespaceList
	if c.client.List(cmd.Context(), &namespaces) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for i := range namespaces.Items {
		names = append(names, namespaces.Items[i].Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeFlag lets a command complete the value of a flag, which exists.
func completeFlag(cmd *cobra.Command, flag string, complete cobra.CompletionFunc) {
	_ = cmd.RegisterFlagCompletionFunc(flag, complete)
}

// newOptions is a command as kubectl has one.
func newOptions(c *command) *cobra.Command {
	return &cobra.Command{
		Use:         "options",
		Short:       "List the flags of all commands",
		Args:        process.NoArgs,
		Annotations: map[string]string{offline: "true"},
		Run: func(cmd *cobra.Command, _ []string) {
			c.out.print("All commands have these flags:\n\n%s", cmd.InheritedFlags().FlagUsages())
		},
	}
}

// optionsInOnePlace replaces the flags of all commands, twenty of them, in the usage of each by the command that lists them.
func optionsInOnePlace(usage string) string {
	const global = "Global Flags:\n{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}"
	return strings.Replace(usage, global, `Use "kubectl groundskeeper options" for the flags of all commands.`, 1)
}
