"""`python -m urnic` is `urnic`."""
from urnic.launcher import main

main()
