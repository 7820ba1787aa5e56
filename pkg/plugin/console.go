// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
	"groundskeeper.io/groundskeeper/pkg/plugin/console"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
	"groundskeeper.io/groundskeeper/pkg/plugin/uninstall"
	"groundskeeper.io/groundskeeper/pkg/process"
)

func newConsole(c *command) *cobra.Command {
	var actions bool
	cmd := &cobra.Command{
		Use:   "console",
		Short: "Serve a page about all of this on loopback, with your own permissions",
		Long: "Serve a page about all of this on loopback, with your own permissions, until it is interrupted.\n\n" +
			"The page is served on 127.0.0.1 at a random port. The URL that is printed contains a token that is valid once. With -n, the\n" +
			"page lists only the objects of one namespace. The page is read-only, unless --actions is set.",
		Example: "  kubectl groundskeeper console\n  kubectl groundskeeper console -n garden-shop",
		Args:    process.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.console(cmd.Context(), cmd.Flags().Changed("namespace"), actions)
		},
	}
	cmd.Flags().BoolVar(&actions, "actions", false, "let the page drain DiscoveryBackends, bring them back, and delete Klusters, with the "+
		"questions of the commands")
	return cmd
}

func (c *command) console(ctx context.Context, one, actions bool) error {
	namespace := ""
	if one {
		var err error
		if namespace, err = c.namespace(); err != nil {
			return err
		}
	}
	o := c.consoleOptions(namespace)
	if actions {
		o.Actions = c.consoleActions()
	}
	return console.Run(ctx, o, func(url string) {
		c.out.print("%s\n", url)
		c.out.print("Open this URL in a browser on this machine: it is valid once. Press Ctrl-C to stop the console.\n")
	})
}

// consoleOptions returns the functions of the other commands, so that the page shows what they print.
func (c *command) consoleOptions(namespace string) console.Options {
	background := *c // it replaces its client, while requests of the page use that of c
	var manager atomic.Pointer[uninstall.Manager]
	manager.Store(&uninstall.Manager{}) // unknown, until it was checked
	idle := func(controller string) string { return manager.Load().Idle(controller) }
	o := console.Options{
		Connect: func() (client.WithWatch, error) {
			fresh := *c
			err := fresh.connect()
			return fresh.client, err
		},
		Namespace: namespace,
		Health: func(ctx context.Context) *report.Report {
			r, m := background.checkOnce(ctx)
			manager.Store(&m)
			for i := range r.Checked { // the page shows what is not read as unknown
				r.Checked[i].Problem = cmp.Or(r.Checked[i].Problem, r.Checked[i].Unread)
			}
			return r
		},
		Policies: func(ctx context.Context) *report.Report {
			r := &report.Report{Findings: []report.Finding{}}
			if err := background.policies(ctx, r); err != nil {
				r.Checked = append(r.Checked, report.Checked{Name: policiesTitle, Problem: report.OneLine(background.explained(ctx, err).Error())})
			}
			return r
		},
		Config: func(ctx context.Context) (*v1alpha1.ControllerManagerConfiguration, error) {
			return uninstall.ReadConfig(ctx, c.client)
		},
		Source:  c.source,
		Explain: explained,
		Clock:   c.clock,
		Cluster: c.cluster(),
	}
	o.Context, o.User = c.identity()
	for _, k := range kinds() {
		denied := namespace
		if k.global {
			denied = ""
		}
		o.Kinds = append(o.Kinds, console.Kind{
			Title: k.title, Name: k.names[0], Object: k.object, List: k.list, Global: k.global, Denied: notAllowed(k, denied),
			Findings: func(object client.Object, now time.Time) []report.Finding {
				return report.About(k.title, object, report.Of(object, idle, now))
			},
			Why: func(object client.Object, now time.Time) []report.Finding {
				return report.About(k.title, object, report.Why(object, idle, now))
			},
		})
	}
	return o
}

// source returns how to find and read objects of any kind.
func (c *command) source() (resourcewatch.Finder, resourcewatch.Source, error) {
	config, err := c.config.ClientConfig()
	if err != nil {
		return nil, resourcewatch.Source{}, kubeconfigError(err)
	}
	config.QPS, config.Burst = -1, 0
	discoverer, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, resourcewatch.Source{}, err
	}
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, resourcewatch.Source{}, err
	}
	return resourcewatch.NewFinder(discoverer), resourcewatch.Source{Dynamic: objects}, nil
}

// cluster returns the address of the API server, which is unique, unlike the name of a context.
func (c *command) cluster() string {
	if c.config == nil {
		return ""
	}
	config, err := c.config.ClientConfig()
	if err != nil {
		return ""
	}
	return config.Host
}

// identity returns the names of the context and of the user in the kubeconfig, which are those that a user knows.
func (c *command) identity() (name, user string) {
	if c.config == nil {
		return "", ""
	}
	raw, err := c.config.RawConfig()
	if err != nil {
		return "", ""
	}
	name = cmp.Or(c.overrides.CurrentContext, raw.CurrentContext)
	if selected := raw.Contexts[name]; selected != nil {
		user = selected.AuthInfo
	}
	return name, cmp.Or(c.overrides.Context.AuthInfo, user)
}
