// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/logs"
)

// FlagSets returns the flags, in the groups that --help shows.
func (o *Options) FlagSets() cliflag.NamedFlagSets {
	var sets cliflag.NamedFlagSets
	o.addFlags(sets.FlagSet("Groundskeeper"))
	o.Etcd.AddFlags(sets.FlagSet("Etcd"))
	o.SecureServing.AddFlags(sets.FlagSet("Secure serving"))
	o.Authentication.AddFlags(sets.FlagSet("Authentication"))
	o.Authorization.AddFlags(sets.FlagSet("Authorization"))
	o.CoreAPI.AddFlags(sets.FlagSet("Kubernetes API server"))
	o.Admission.AddFlags(sets.FlagSet("Admission"))
	o.Audit.AddFlags(sets.FlagSet("Audit"))
	o.Features.AddFlags(sets.FlagSet("Features"))
	o.EgressSelector.AddFlags(sets.FlagSet("Egress selector"))
	o.Traces.AddFlags(sets.FlagSet("Traces"))
	o.ServerRun.AddUniversalFlags(sets.FlagSet("Generic"))
	o.APIEnablement.AddFlags(sets.FlagSet("API enablement"))
	o.LogFormat.AddFlag(sets.FlagSet("Logs"))
	logs.AddFlags(sets.FlagSet("Logs"))
	return sets
}

// GroupHelp makes --help of the command show the flags that AddFlags bound in their groups; its subcommands are unaffected.
func (o *Options) GroupHelp(command *cobra.Command) {
	usage, help := command.UsageFunc(), command.HelpFunc()
	command.SetUsageFunc(func(c *cobra.Command) error {
		if c != command {
			return usage(c)
		}
		o.printUsage(c, c.OutOrStderr())
		return nil
	})
	command.SetHelpFunc(func(c *cobra.Command, args []string) {
		if c != command {
			help(c, args)
			return
		}
		fmt.Fprintf(c.OutOrStdout(), "%s\n\n", c.Short)
		o.printUsage(c, c.OutOrStdout())
	})
}

func (o *Options) printUsage(c *cobra.Command, out io.Writer) {
	fmt.Fprintf(out, "Usage:\n  %s\n  %s [command]\n\nAvailable Commands:\n", c.UseLine(), c.CommandPath())
	for _, below := range c.Commands() {
		fmt.Fprintf(out, "  %-12s %s\n", below.Name(), below.Short)
	}
	cliflag.PrintSections(out, o.flags, 0)
}

// AddFlags binds the options to flags. /flagz shows what they are.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	o.flags = o.FlagSets()
	for _, name := range o.flags.Order {
		fs.AddFlagSet(o.flags.FlagSets[name])
	}
}

// addFlags binds the options that no library has.
func (o *Options) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.EmbeddedEtcdDir, "embedded-etcd-dir", o.EmbeddedEtcdDir,
		"Directory of an etcd that runs inside this process. Used when --etcd-servers is not given; for one replica only.")
	fs.BoolVar(&o.EmbeddedEtcdUnsafeNoFsync, "embedded-etcd-unsafe-no-fsync", o.EmbeddedEtcdUnsafeNoFsync,
		"Do not wait for the disk in the embedded etcd. A crash of the machine may lose data: for tests only.")
	fs.StringVar(&o.AcceptStore, "accept-store", o.AcceptStore,
		"Acknowledge that the store recorded in the cluster is lost and that this one takes its place. "+
			"The value is what the server prints when it refuses to start; it is good for that one time.")
	fs.BoolVar(&o.AuthorizeAnyNameFirst, "authorize-any-name-first", o.AuthorizeAnyNameFirst,
		"Review the permission to all objects of a resource first, and skip the review of one object if it is granted. "+
			"Disable it when an authorizer of the cluster allows all objects and denies some by name; RBAC cannot.")
	fs.BoolVar(&o.SelfManagedCertificates, "self-managed-certificates", o.SelfManagedCertificates,
		"Generate the serving certificate, store it in Secret groundskeeper-system/groundskeeper-apiserver-tls, inject its CA bundle into the "+
			"APIServices of this server, and replace it before it expires. Instead of --tls-cert-file.")
	fs.StringSliceVar(&o.DiscoveryAdminNamespaces, "discovery-admin-namespaces", o.DiscoveryAdminNamespaces,
		"Namespaces whose DiscoveryBackends publish Services in every namespace. One elsewhere reaches its own namespace only. "+
			"As controllers.discovery.adminNamespaces of the controller manager.")
	fs.StringVar(&o.DiscoveryDeletionConfirmation, "discovery-deletion-confirmation", o.DiscoveryDeletionConfirmation,
		"Which DiscoveryBackends need the annotation confirmation.gardener.cloud/deletion to be deleted while routes refer to them: "+
			"AdminNamespaces (those in --discovery-admin-namespaces), All or None.")
	fs.StringSliceVar(&o.ProjectQuotaLabels, "project-quota-labels", o.ProjectQuotaLabels,
		"Keys of labels of Projects that controllers.project.quotas of the controller manager selects by. To set, change or remove one takes "+
			"the verb modify-quota-labels on the Project. Labels that begin with quota.groundskeeper.io/ are always guarded.")
	fs.StringVar(&o.ProjectAuthorization, "project-authorization", o.ProjectAuthorization,
		"How members get their permissions on Projects: roles (RBAC decides, by the roles that the controller manager writes for each "+
			"Project) or membership (RBAC lets all users through, and this server decides by the members of each Project; a list has the "+
			"Projects of the user). To change it, follow docs/project-authorization.md. As controllers.project.authorization of the controller "+
			"manager.")
	fs.BoolVar(&o.Standalone, "standalone", o.Standalone,
		"Run without a kube-apiserver: no authentication, no authorization, no admission. For trying out, on a loopback address only.")
}
