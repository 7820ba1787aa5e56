// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
	"groundskeeper.io/groundskeeper/test/fakes/openstack"
)

// cluster does what Cluster API and its provider for OpenStack have done when a cluster runs.
func (s *stage) cluster(ctx context.Context) error {
	if err := kubeconfig(s.web, s.path("web.kubeconfig"), "groundskeeper-system", "groundskeeper-kluster"); err != nil {
		return err
	}
	access, err := os.ReadFile(s.path("web.kubeconfig"))
	if err != nil {
		return err
	}
	ids := map[string]string{}
	for kind, detail := range map[string]string{"network": "", "external network": "", "subnet": "10.0.0.0/24", "router": ""} {
		if ids[kind], err = s.item(ctx, kind, detail); err != nil {
			return err
		}
	}
	clouds := fmt.Sprintf(`{clouds: {cloud: {auth: {auth_url: %q, username: %s, password: %q, user_domain_name: Default, project_id: %s}}}}`,
		s.authURL(), cloudUser, s.password, cloudUser)
	template, err := os.ReadFile(manifest("cluster.yaml"))
	if err != nil {
		return err
	}
	values := map[string][]byte{"CLOUDS": []byte(clouds), "KUBECONFIG": access}
	content := os.Expand(string(template), func(name string) string { return base64.StdEncoding.EncodeToString(values[name]) })
	path := s.path("cluster.yaml")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		return err
	}
	status := fmt.Sprintf(`{"status":{"network":{"id":%q,"subnets":[{"id":%q}]},"router":{"id":%q},"externalNetwork":{"id":%q}}}`,
		ids["network"], ids["subnet"], ids["router"], ids["external network"])
	if err := s.kubectl(ctx, "create", "-f", path); err != nil {
		return err
	}
	if err := s.patch(ctx, "openstackcluster/web", status, "--subresource=status"); err != nil {
		return err
	}
	uid, err := s.output(ctx, "get", "cluster", "web", "-n", "garden-shop", "-o", "jsonpath={.metadata.uid}")
	if err != nil {
		return err
	}
	owner := `{"metadata":{"ownerReferences":[{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","name":"web","uid":"` + uid + `"}]}}`
	if err := s.patch(ctx, "openstackcluster/web", owner); err != nil {
		return err
	}
	return s.routes(ctx, ids["router"])
}

// patch changes an object in the namespace of the Project.
func (s *stage) patch(ctx context.Context, object, change string, flags ...string) error {
	return s.kubectl(ctx, append([]string{"patch", object, "-n", "garden-shop", "--type=merge", "-p", change}, flags...)...)
}

// routes does what the cloud controller has done: each node has a route for its pods.
func (s *stage) routes(ctx context.Context, router string) error {
	const routes = `[{"destination":"100.64.1.0/24","nexthop":"10.0.0.5"},{"destination":"100.64.2.0/24","nexthop":"10.0.0.6"},` +
		`{"destination":"100.64.3.0/24","nexthop":"10.0.0.7"}]`
	url := "http://" + s.cloud + openstack.PagesRoot + "routers/" + router + "/routes"
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, url, strings.NewReader(routes))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close() //nolint:errcheck // it is only read
	if response.StatusCode != http.StatusNoContent {
		return fmt.Errorf("cannot set the routes of the fake of OpenStack: %s", response.Status)
	}
	return nil
}

// deleteMachines does what Cluster API does first when a Cluster is deleted.
func (s *stage) deleteMachines(ctx context.Context) error {
	return s.kubectl(ctx, "delete", "machines", "-n", "garden-shop", "-l", desired.LabelClusterName+"=web", "--wait=false")
}

// dismantle does what Cluster API and its provider do when the machines of a deleted cluster are released.
func (s *stage) dismantle(ctx context.Context) error {
	return errors.Join(
		until(ctx, s.lacks(desired.AnnotationHook, "get", "machines", "-n", "garden-shop", "-o", "yaml")),
		s.patch(ctx, "machine/web-control-plane", noFinalizers), s.patch(ctx, "machine/web-worker", noFinalizers),
		s.kubectl(ctx, "delete", "openstackcluster", "web", "-n", "garden-shop", "--wait=false"))
}

// forgetCluster does what both do when OpenStack is checked: the network goes, and the Cluster with it.
func (s *stage) forgetCluster(ctx context.Context) error {
	kept := s.lacks(`"`+desired.Finalizer+`"`, "get", "openstackcluster", "web", "-n", "garden-shop", "-o", "jsonpath={.metadata.finalizers}")
	return errors.Join(until(ctx, kept),
		s.patch(ctx, "openstackcluster/web", noFinalizers), s.patch(ctx, "cluster/web", noFinalizers))
}

// noFinalizers is a patch.
const noFinalizers = `{"metadata":{"finalizers":null}}`

// lacks returns a condition that holds when the output of kubectl does not have a text.
func (s *stage) lacks(text string, args ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		output, err := s.output(ctx, args...)
		if err == nil && strings.Contains(output, text) {
			err = fmt.Errorf("the output of kubectl %s has %s", strings.Join(args, " "), text)
		}
		return err
	}
}
