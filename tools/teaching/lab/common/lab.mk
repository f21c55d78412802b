# How a program of a lab is built: warnings are errors, and libibverbs is the only library.
CFLAGS = -std=gnu11 -O1 -g -Wall -Wextra -Werror
LDLIBS = -libverbs

clean:
	rm -f $(PROGRAMS) *.o
