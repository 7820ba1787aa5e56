// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
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
	known := newKnown()
	o := console.Options{
		Connect: func() (client.WithWatch, error) {
			fresh := *c
			err := fresh.connect()
			return fresh.client, err
		},
		Namespace: namespace,
		Health: func(ctx context.Context) *report.Report {
			r := background.checkOnce(ctx)
			known.read(ctx, &background)
			for i := range r.Checked { // the page shows what is not read as unknown
				r.Checked[i].Problem = cmp.Or(r.Checked[i].Problem, r.Checked[i].Unread)
			}
			return r
		},
		Others: func(ctx context.Context, projects map[string]types.UID) *report.Report {
			r := &report.Report{Findings: []report.Finding{}}
			if err := background.others(ctx, r, known.manager, projects); err != nil {
				r.Checked = append(r.Checked, report.Checked{Name: installationTitle, Problem: report.OneLine(background.explained(ctx, err).Error())})
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
				return known.named(report.About(k.title, object, report.Of(object, idle(known.manager), now)))
			},
			Why: func(ctx context.Context, object client.Object) (*report.Report, error) {
				return c.blocking(ctx, k, object, nil, idle(known.manager))
			},
		})
	}
	return o
}

// known is what the findings of the console depend on beside their objects: it is read with each check of the installation.
type known struct {
	mu    sync.Mutex
	state uninstall.Manager
	err   error
	hosts hosts
	// asked reports that a finding has the id of a host.
	asked bool
}

func newKnown() *known { return &known{hosts: newHosts()} }

// read reads how the manager runs, and the Nodes if a finding has the id of one.
func (k *known) read(ctx context.Context, c *command) {
	state, err := c.published(ctx)
	k.mu.Lock()
	k.state, k.err = state, err
	read, asked := k.hosts, k.asked
	k.mu.Unlock()
	if asked {
		read.read(ctx, c.client)
		k.mu.Lock()
		k.hosts = read
		k.mu.Unlock()
	}
}

// manager returns how the manager runs. Until that was read, it is unknown.
func (k *known) manager() (uninstall.Manager, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state, k.err
}

// named returns findings with the names of the Nodes that are known.
func (k *known) named(findings []report.Finding) []report.Finding {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.hosts.in(findings) {
		k.asked = true
		k.hosts.name(findings)
	}
	return findings
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
