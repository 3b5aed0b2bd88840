package workload

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"airtide/internal/lab/machine"
	"airtide/internal/lab/plan"
)

const httpdName = "httpd"

// moduleFolders are the folders of Apache's modules in common distributions.
var moduleFolders = []string{
	"/usr/lib/apache2/modules", "/usr/lib64/apache2/modules", "/usr/lib/httpd/modules", "/usr/lib64/httpd/modules",
	"/usr/local/apache2/modules",
}

// httpdThreads is the number of connections that one httpd process serves at the same time.
const httpdThreads = 64

// text returns the configuration of a minimal server for the flows. For an upload, mod_asis
// replaces the answer 405 by a document with status 204, so httpd reads the upload completely and
// stores nothing. ServerName avoids a slow name lookup; the user is a number because its name
// differs between distributions.
func (c *httpdConfig) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, `ServerRoot "%[1]s"
ServerName localhost
PidFile "%[1]s/httpd.pid"
DefaultRuntimeDir "%[1]s"
ErrorLog "/dev/stderr"
LogLevel warn
User "#65534"
Group "#65534"
`, c.root)
	for _, m := range c.modules {
		fmt.Fprintf(&b, "<IfModule !%[1]s_module>\n\tLoadModule %[1]s_module \"%s\"\n</IfModule>\n", m.name, m.path)
	}
	fmt.Fprintf(&b, `StartServers %[1]d
ServerLimit %[1]d
ThreadLimit %[2]d
ThreadsPerChild %[2]d
MaxRequestWorkers %[3]d
MinSpareThreads 1
MaxSpareThreads %[3]d
Timeout 300
KeepAlive On
KeepAliveTimeout 300
MaxKeepAliveRequests 0
LimitRequestBody 0
DocumentRoot "%[4]s"
<Files "%[5]s">
	SetHandler send-as-is
</Files>
ErrorDocument 405 "/%[5]s"
`, c.processes, httpdThreads, c.processes*httpdThreads, c.documents, acceptedName)
	for _, l := range c.listen {
		fmt.Fprintf(&b, "Listen %s\n", l.address)
		if l.once {
			fmt.Fprintf(&b, "<VirtualHost %s>\n\tServerName localhost\n\tKeepAlive Off\n</VirtualHost>\n", l.address)
		}
	}
	return b.String()
}

type (
	// httpdConfig contains the differences between configurations.
	httpdConfig struct {
		root, documents string
		modules         []httpdModule
		listen          []httpdListen
		processes       int
	}
	httpdModule struct{ name, path string }
	httpdListen struct {
		address string
		// once closes the connection after each request.
		once bool
	}
)

// startHTTPD starts a machine's httpd for its flows.
func (s *Session) startHTTPD(on *machine.Namespace, flows []*flow) error {
	path, err := machine.Httpd.Path()
	if err != nil {
		return fmt.Errorf("flow %s (%s): %w", flows[0].Name, flows[0].Flow.Protocol, err)
	}
	if s.content == nil {
		s.content, err = newContent()
		if err != nil {
			return err
		}
	}
	root := filepath.Join(s.content.root, on.Name())
	if err := os.Mkdir(root, 0o755); err != nil {
		return fmt.Errorf("making a folder for httpd: %w", err)
	}
	modules, err := httpdModules()
	if err != nil {
		return err
	}
	o := &server{name: httpdName, on: on}
	var listen []httpdListen
	connections := 0
	for _, f := range flows {
		o.ports = append(o.ports, f.port)
		once := f.Flow.Protocol == plan.Transfers || f.Flow.Protocol == plan.Web
		listen = append(listen, httpdListen{hostPort(on.Address(), f.port), once})
		connections += 2 * f.Flow.Parallel // one may be closing while the next one opens
	}
	processes := connections/httpdThreads + 1
	config, err := s.create("httpd-" + on.Name() + ".conf")
	if err != nil {
		return err
	}
	_, err = config.WriteString((&httpdConfig{
		root: root, documents: s.content.documents(), modules: modules, listen: listen, processes: processes,
	}).text())
	if err := errors.Join(err, config.Close()); err != nil {
		return fmt.Errorf("writing httpd's configuration: %w", err)
	}
	// httpd reads its configuration before it switches to the user nobody.
	name, err := filepath.Abs(config.Name())
	if err != nil {
		return fmt.Errorf("finding httpd's configuration: %w", err)
	}
	o.answers = o.httpAnswers
	return s.serve(o, path, []string{"-D", "FOREGROUND", "-f", name}, "httpd-"+on.Name()+".log")
}

// httpdModules returns the required modules that exist as files. Other modules may be built into
// httpd.
func httpdModules() ([]httpdModule, error) {
	for _, folder := range moduleFolders {
		var found []httpdModule
		for _, name := range []string{"mpm_event", "unixd", "authz_core", "asis"} {
			path := filepath.Join(folder, "mod_"+name+".so")
			if _, err := os.Stat(path); err == nil {
				found = append(found, httpdModule{name, path})
			}
		}
		if len(found) > 0 {
			return found, nil
		}
	}
	return nil, fmt.Errorf("the modules of Apache httpd are in none of %s: apt-get install %s",
		strings.Join(moduleFolders, ", "), machine.Httpd.Package)
}

// httpAnswers requests a document on the server's own machine, so that no packet passes the cell.
func (o *server) httpAnswers() error {
	var c net.Conn
	err := machine.In(o.on.Namespace, func() (err error) {
		dialer := net.Dialer{Timeout: answerTime}
		c, err = dialer.DialContext(context.Background(), "tcp", hostPort(o.on.Address(), o.ports[0]))
		return err
	})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(c, "GET /%s HTTP/1.0\r\n\r\n", acceptedName); err != nil {
		return err
	}
	status, err := bufio.NewReader(c).ReadString('\n')
	if err != nil {
		return err
	}
	if fields := strings.Fields(status); len(fields) < 2 || fields[1] != "204" {
		return fmt.Errorf("it answers %q to a request that it should answer with 204", strings.TrimSpace(status))
	}
	return nil
}

// answerTime is the longest time of a server's answer to its own machine.
const answerTime = 5 * time.Second
