// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package cloud has the stages of Deorbit in OpenStack: Verify deletes the leftovers of the workload cluster, Routes the routes to its
// pods.
//
// A check has three parts. It lists all objects that can be affected, and aborts if a list is incomplete. It decides about each object
// without further requests (decide). Then it deletes, and checks the fence before each deletion.
//
// An object belongs to the cluster only if it has evidence for that: a tag, a matching name and description, or an ID that was recorded in
// the cluster. In case of doubt, the object is retained and reported.
package cloud
