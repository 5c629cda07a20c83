
so