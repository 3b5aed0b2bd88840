package cell

// twoStations are an ac cell with a server 2 ms away.
func twoStations() Config {
	c := gigabit(Terminal{Name: "one", Radio: ac867()}, Terminal{Name: "two", Radio: ac867()})
	c.Flows = []Flow{
		{Name: "first", Port: 5201},
		{Name: "second", Port: 5202},
		{Name: "echo"},
		{Name: "from one", From: "one"},
		{Name: "server asks two", From: "server", To: "two"},
	}
	return c
}
