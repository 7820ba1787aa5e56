// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package cloud has the stages of Deorbit that check OpenStack: Verify removes what the workload cluster left there,
// Routes the routes to its pods.
//
// A check has three parts. It lists everything that could be concerned, and ends when one list is not whole. It decides
// about each object without a request (decide). Then it deletes, with a question before each whether it still may.
//
// An object is the cluster's only by what it reports about itself: a tag, a name and a description that agree, or an id that was
// seen in the cluster. What is in doubt stays, and is reported.
package cloud
