// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package openstack is a fake of Keystone, Neutron, Nova, Cinder and Octavia, as far as clusters of Kubernetes need them, that
// speaks HTTP and is as strict as the real ones: tokens end, routes are validated all together, revisions are compared, servers of
// a cell that is down are listed or left out by Nova's rules, and what is in use or on its way is not deleted. It shares no code
// with Groundskeeper's client, so that a mistake in one is seen by the other; test/openstack queries it and the real services the
// same questions.
//
// Tests change its content by methods (content.go, networks.go, volumes.go, loadbalancers.go), report how fast Cinder and Octavia
// are (Options.Delay, transitions.go) and make faults (faults.go); fake-openstack serves it as a process of its own, whose content is
// changed by pages (pages.go). Its state is in memory and lasts as long as the Server does.
package openstack
