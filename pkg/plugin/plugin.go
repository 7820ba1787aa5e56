// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package plugin has the commands of "kubectl groundskeeper": the state of Groundskeeper's objects at a glance, what blocks an
// object, whether an installation works, its removal, and the two changes that users follow while they happen, a drain and a
// deorbit. The findings about an object are a pure function of it (findings.go); the commands list, print and wait.
package plugin

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
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
	// overrides are the flags that select the cluster and the user.
	overrides clientcmd.ConfigOverrides
	// client and host are there when a command runs.
	client client.WithWatch
	host   kubernetes.Interface
}

// New returns the command with all its subcommands.
func New(in io.Reader, out *os.File) *cobra.Command {
	c := &command{in: in, out: newTerminal(out), clock: clock.RealClock{}}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	overrides := &c.overrides
	c.config = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	color := "auto"
	root := &cobra.Command{
		Use:           "kubectl-groundskeeper",
		Short:         "See and steer Projects, Klusters, Translations and DiscoveryBackends",
		Version:       version.String(),
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl groundskeeper"},
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.out.setColor(color); err != nil {
				return err
			}
			if cmd.Annotations[offline] != "" || cmd.Name() == cobra.ShellCompRequestCmd || cmd.Name() == cobra.ShellCompNoDescRequestCmd {
				return nil
			}
			if err := c.connect(); err != nil {
				return explained(err)
			}
			if !cmd.Flags().Changed("namespace") {
				return nil
			}
			return c.namespaceExists(cmd.Context())
		},
	}
	flags := root.PersistentFlags()
	flags.StringVar(&rules.ExplicitPath, clientcmd.RecommendedConfigPathFlag, "", "kubeconfig `file`")
	clientcmd.BindOverrideFlags(overrides, flags, overrideFlags())
	flags.StringVar(&color, "color", color, "auto, always or never")
	completeFlag(root, "namespace", c.completeNamespaces)
	completeFlag(root, "color", cobra.FixedCompletions([]string{"auto", "always", "never"}, cobra.ShellCompDirectiveNoFileComp))
	root.AddCommand(newStatus(c), newWhy(c), newDrain(c), newRestore(c), newDeorbit(c), newCheck(c), newConsole(c), newVersion(c),
		newUninstall(c), newCompletion(c), newConvert(c), newOptions(c))
	root.SetUsageTemplate(optionsInOnePlace(root.UsageTemplate()))
	for _, sub := range root.Commands() {
		run := sub.RunE
		if run == nil {
			continue
		}
		sub.RunE = func(cmd *cobra.Command, args []string) error { return c.explained(cmd.Context(), run(cmd, args)) }
	}
	root.CompletionOptions.DisableDefaultCmd = true
	return root
}

// offline annotates commands that need no cluster.
const offline = "offline"

// overrideFlags returns those of kubectl for the cluster, the user and the namespace, except basic authentication, which
// Kubernetes does not have any more.
func overrideFlags() clientcmd.ConfigOverrideFlags {
	flags := clientcmd.RecommendedConfigOverrideFlags("")
	flags.AuthOverrideFlags.Username, flags.AuthOverrideFlags.Password = clientcmd.FlagInfo{}, clientcmd.FlagInfo{}
	flags.ClusterOverrideFlags.APIServer.ShortName = "s"
	return flags
}

func (c *command) connect() error {
	config, err := c.config.ClientConfig()
	if err != nil {
		return kubeconfigError(err)
	}
	config.QPS, config.Burst = -1, 0 // the server's priority and fairness is the real limit
	// Lists of thousands of objects are read in a fraction of the time. Where the kinds are custom resources, the response is JSON.
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.WarningHandler = rest.NewWarningWriter(os.Stderr, rest.WarningWriterOptions{Deduplicate: true}) // as kubectl
	c.clock = observe(config, c.clock)
	s := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(s); err != nil {
		return err
	}
	if err := scheme.AddToScheme(s); err != nil {
		return err
	}
	if c.host, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	c.client, err = client.NewWithWatch(config, client.Options{Scheme: s})
	return err
}

// namespace returns the one of the flag or of the context.
func (c *command) namespace() (string, error) {
	namespace, _, err := c.config.Namespace()
	if err != nil {
		return "", fmt.Errorf("namespace: %w", err)
	}
	return namespace, nil
}
