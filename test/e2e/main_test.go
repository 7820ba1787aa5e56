// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package e2e tests Groundskeeper with pods: discoverers of the images that "make images" builds, on a plane with a node.
// A second plane is the backend. It runs with the flag -node only, as "make e2e-node" does.
package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"groundskeeper.io/groundskeeper/test/audit"
	"groundskeeper.io/groundskeeper/test/plane"
	"groundskeeper.io/groundskeeper/test/plane/image"
)

const discoverer = "groundskeeper-discoverer"

var withNode = flag.Bool("node", false, "start a node and run the tests: needs root, Debian packages and the images")

// here has Groundskeeper's servers and the node, there is the backend: a plane without Groundskeeper's servers, which pods of the
// node reach.
var here, there *cluster

// Where planes are.
var directory string

func TestMain(m *testing.M) {
	flag.Parse()
	if !*withNode {
		fmt.Println("skipped: tests with pods need a node; make e2e-node runs them")
		return
	}
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	// The flows mostly wait, each for its own pod.
	if err := flag.Set("test.parallel", "4"); err != nil {
		return 0, err
	}
	log.SetLogger(logr.Discard())
	dir, err := os.MkdirTemp("", "e2e")
	if err != nil {
		return 0, err
	}
	directory = dir
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	reference, err := image.Reference(archive(discoverer))
	if err != nil {
		return 0, err
	}
	here, err = start(ctx, plane.Options{
		Dir: filepath.Join(dir, "here"), APIServers: 1, Managers: 1, SharedEtcd: true,
		Node: true, Images: []string{archive("pause"), archive(discoverer)}, DiscovererImage: reference,
	})
	if err != nil {
		return 0, err
	}
	// No pods except discoverers shall run there.
	if err := here.enforce(ctx, adminNamespace, "restricted"); err != nil {
		return 0, errors.Join(err, here.Stop(context.Background()))
	}
	there, err = start(ctx, plane.Options{Dir: filepath.Join(dir, "there"), Address: here.Address()})
	if err == nil {
		code, err = m.Run(), there.Stop(context.Background())
	}
	return code, errors.Join(err, here.Stop(context.Background()), audit.CheckPermissions(here.audit, audit.Manager), leftovers(dir))
}

// images is where those of this build are, previous what test/e2e/previous.sh made: images and manifests to upgrade from.
const images, previous = "../../_output/images", "../../_output/previous"

// archive returns the path of an image.
func archive(name string) string { return filepath.Join(images, name+".tar") }
