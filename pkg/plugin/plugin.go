// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package plugin has the commands of "kubectl groundskeeper": what goes on with our kinds at a glance, what holds up an
// object, and the two changes that people watch while they happen, a drain and a deorbit. What is said of an object is a
// pure function of it (findings.go); the commands list, print and wait.
package plugin

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/apis/scheme"
	"groundskeeper.io/groundskeeper/pkg/version"
)

// command is what all commands share.
type command struct {
	in     io.Reader
	out    *terminal
	clock  clock.PassiveClock
	config clientcmd.ClientConfig
	// client is there when a command runs.
	client client.WithWatch
}

// New returns the command with all its subcommands.
func New(in io.Reader, out *os.File) *cobra.Command {
	c := &command{in: in, out: newTerminal(out), clock: clock.RealClock{}}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	overrides := &clientcmd.ConfigOverrides{}
	c.config = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	color := "auto"
	root := &cobra.Command{
		Use:           "kubectl-groundskeeper",
		Short:         "See and steer Projects, Klusters, Translations and DiscoveryBackends",
		Version:       version.String(),
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl groundskeeper"},
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(*cobra.Command, []string) error {
			if err := c.out.setColor(color); err != nil {
				return err
			}
			return c.connect()
		},
	}
	flags := root.PersistentFlags()
	flags.StringVar(&rules.ExplicitPath, clientcmd.RecommendedConfigPathFlag, "", "kubeconfig `file`")
	flags.StringVar(&overrides.CurrentContext, clientcmd.FlagContext, "", "`context` of the kubeconfig")
	flags.StringVarP(&overrides.Context.Namespace, clientcmd.FlagNamespace, "n", "", "`namespace` of the object")
	flags.StringVar(&color, "color", color, "auto, always or never")
	root.AddCommand(newStatus(c), newWhy(c), newDrain(c), newDeorbit(c), newUninstall(c))
	for _, sub := range root.Commands() {
		run := sub.RunE
		sub.RunE = func(cmd *cobra.Command, args []string) error { return explained(run(cmd, args)) }
	}
	root.CompletionOptions.DisableDefaultCmd = true
	return root
}

// connect makes the client.
func (c *command) connect() error {
	config, err := c.config.ClientConfig()
	if err != nil {
		return err
	}
	config.QPS, config.Burst = -1, 0 // the server's priority and fairness is the real limit
	s := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(s); err != nil {
		return err
	}
	if err := scheme.AddToScheme(s); err != nil {
		return err
	}
	c.client, err = client.NewWithWatch(config, client.Options{Scheme: s})
	return err
}

// namespace is the one of the flag or of the context.
func (c *command) namespace() (string, error) {
	namespace, _, err := c.config.Namespace()
	if err != nil {
		return "", fmt.Errorf("namespace: %w", err)
	}
	return namespace, nil
}
