// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/client-go/rest"

	"groundskeeper.io/groundskeeper/test/bench/report"
)

// versions returns the versions of the compared servers, as each reports it.
func (c *comparison) versions(ctx context.Context) error {
	var kube struct {
		GitVersion string `json:"gitVersion"`
	}
	if err := readJSON(ctx, c.Config(), "/version", &kube); err != nil {
		return err
	}
	// /version of Groundskeeper's server is for Kubernetes clients.
	var own struct{ Version, Commit string }
	if err := readJSON(ctx, c.DirectConfig(0), "/statusz/groundskeeper", &own); err != nil {
		return err
	}
	store, err := c.store()
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	status, err := store.Status(ctx, c.EtcdEndpoint())
	if err != nil {
		return err
	}
	return errors.Join(
		c.reporter.State(report.Fact{Benchmark: benchmark, Fact: "version of etcd", Is: status.Version}),
		c.reporter.State(report.Fact{Benchmark: benchmark, Fact: "version of kube-apiserver", Is: kube.GitVersion}),
		c.reporter.State(report.Fact{Benchmark: benchmark, Fact: "version of groundskeeper-apiserver", Is: strings.TrimSpace(own.Version + " " + own.Commit)}))
}

// readJSON reads a page of a server.
func readJSON(ctx context.Context, config *rest.Config, path string, into any) error {
	client, err := newClient(config, typeJSON)
	if err != nil {
		return err
	}
	defer client.close()
	response, err := client.do(ctx, request{method: "GET", path: path})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(response, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
