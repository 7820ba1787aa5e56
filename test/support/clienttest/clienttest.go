// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package clienttest makes the fake clientset of Kubernetes a client for tests.
package clienttest

import (
	"k8s.io/client-go/kubernetes/fake"

	"groundskeeper.io/groundskeeper/pkg/remote/client"
)

// Client is a fake clientset as a client.Interface.
type Client struct{ *fake.Clientset }

var _ client.Interface = Client{}

// Services implements client.Interface.
func (c Client) Services(namespace string) client.Services { return c.CoreV1().Services(namespace) }

// Namespaces implements client.Interface.
func (c Client) Namespaces() client.Namespaces { return c.CoreV1().Namespaces() }

// EndpointSlices implements client.Interface.
func (c Client) EndpointSlices(namespace string) client.EndpointSlices {
	return c.DiscoveryV1().EndpointSlices(namespace)
}
