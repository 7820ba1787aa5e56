// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/plugin/uninstall"
	"groundskeeper.io/groundskeeper/pkg/process"
	"groundskeeper.io/groundskeeper/pkg/version"
)

// documentTitle is the title of the OpenAPI documents of Groundskeeper's API server.
const documentTitle = "Groundskeeper"

// versionTimeout limits how long the servers may take to respond.
const versionTimeout = 10 * time.Second

// Versions are those of the plugin and of what runs in the cluster, "" when unknown.
type Versions struct {
	Client string `json:"client"`
	// APIServer is what the API server reports.
	APIServer string `json:"apiServer,omitempty"`
	// ControllerManager is the image of its Deployment.
	ControllerManager string `json:"controllerManagerImage,omitempty"`
	// Kubernetes is the version of the kube-apiserver.
	Kubernetes string `json:"kubernetes,omitempty"`
}

func newVersion(c *command) *cobra.Command {
	var format output
	var onlyClient bool
	cmd := &cobra.Command{
		Use:         "version",
		Short:       "Print the version of the plugin, and of the servers in the cluster",
		Args:        process.NoArgs,
		Annotations: map[string]string{offline: "true"},
		RunE:        func(cmd *cobra.Command, _ []string) error { return c.version(cmd.Context(), onlyClient, format) },
	}
	cmd.Flags().BoolVar(&onlyClient, "client", false, "print only the version of the client")
	format.addTo(cmd)
	return cmd
}

func (c *command) version(ctx context.Context, onlyClient bool, format output) error {
	if err := format.check(); err != nil {
		return err
	}
	v := Versions{Client: version.String()}
	var err error
	if !onlyClient {
		err = c.serverVersions(ctx, &v)
	}
	written := format.write(c.out, v, func() {
		for _, line := range [][2]string{{"client", v.Client}, {"groundskeeper-apiserver", v.APIServer},
			{"controller manager", v.ControllerManager}, {"Kubernetes", v.Kubernetes}} {
			if line[1] != "" {
				c.out.print("%-24s %s\n", line[0], line[1])
			}
		}
	})
	if written != nil {
		return written
	}
	return err
}

// serverVersions queries the cluster. What the user is not allowed to read stays unknown.
func (c *command) serverVersions(ctx context.Context, v *Versions) error {
	if err := c.connect(); err != nil {
		return err
	}
	config, err := c.config.ClientConfig()
	if err != nil {
		return err
	}
	config.Timeout = versionTimeout
	host, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	kubernetes, err := host.ServerVersion()
	if err != nil {
		return fmt.Errorf("get the version of Kubernetes: %w", err)
	}
	v.Kubernetes = kubernetes.GitVersion
	deployment := &appsv1.Deployment{}
	if c.client.Get(ctx, client.ObjectKey{Namespace: uninstall.SystemNamespace, Name: "groundskeeper-controller-manager"}, deployment) == nil {
		for _, container := range deployment.Spec.Template.Spec.Containers {
			v.ControllerManager = container.Image
			break
		}
	}
	var failed error
	for _, group := range []string{gardenerv1beta1.SchemeGroupVersion.String(), kubernikusv1.SchemeGroupVersion.String(),
		midonetv1.SchemeGroupVersion.String(), gimbalv1.SchemeGroupVersion.String()} {
		data, err := host.RESTClient().Get().AbsPath("/openapi/v3/apis/"+group).SetHeader("Accept", "application/json").DoRaw(ctx)
		if err != nil {
			failed = fmt.Errorf("get the version of groundskeeper-apiserver from the OpenAPI document of %s: %w", group, err)
			continue
		}
		if v.APIServer = documentVersion(data); v.APIServer != "" {
			return nil
		}
	}
	return failed
}

// documentVersion returns the version in an OpenAPI document of Groundskeeper's API server, "" in that of another one, such as
// Gardener.
func documentVersion(document []byte) string {
	var d struct {
		Info struct{ Title, Version string } `json:"info"`
	}
	if err := json.Unmarshal(document, &d); err != nil || d.Info.Title != documentTitle {
		return ""
	}
	return d.Info.Version
}
