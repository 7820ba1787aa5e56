// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package embeddedetcd

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// helperDir makes the test binary the process that TestDataSurvivesKill kills.
const helperDir = "EMBEDDED_ETCD_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperDir); dir != "" {
		writeForever(dir)
	}
	os.Exit(m.Run())
}

// writeForever writes numbers, and prints each when etcd acknowledged it.
func writeForever(dir string) {
	s, err := Start(context.Background(), Config{Dir: dir})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{s.Endpoint()}, Logger: zap.NewNop()})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for i := 0; ; i++ {
		if _, err := c.Put(context.Background(), "last", fmt.Sprint(i)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println(i)
	}
}

func TestDataSurvivesKill(t *testing.T) {
	dir := t.TempDir()
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), helperDir+"="+dir)
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for range 20 {
		if !lines.Scan() {
			t.Fatal(lines.Err())
		}
	}
	failsToStart(t, Config{Dir: dir}, dir, "another process uses this directory")
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	acknowledged := lines.Text()
	for lines.Scan() { // its output before it was killed
		acknowledged = lines.Text()
	}
	_ = command.Wait()

	var last, want int
	if _, err := fmt.Sscan(get(t, connect(t, run(t, dir)), "last"), &last); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(acknowledged, &want); err != nil {
		t.Fatal(err)
	}
	if last < want {
		t.Errorf("%d is the last number, %d was acknowledged", last, want)
	}
}
