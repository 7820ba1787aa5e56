// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package openstack is a fake of Keystone, Neutron and Nova, as far as routes of routers need them, that speaks HTTP and
// is as strict as the real ones: tokens end, routes are validated all together, revisions are compared, and servers of
// a cell that is down are listed or left out by Nova's rules. It shares no code with our client, so that a mistake in
// one is seen by the other; test/openstack asks it and the real services the same questions.
//
// Tests change its content by methods (content.go) and make faults (faults.go). Its state is in memory and lasts as long
// as the Server does.
package openstack
