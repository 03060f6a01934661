let h=event.target.closest('th'),t=h.closest('table'),k=h.cellIndex,s=h.dataset.s=-(h.dataset.s||-1),
u={ms:.001,min:60,h:3600,d:86400,kB:1e3,MB:1e6,GB:1e9,TB:1e12},
v=e=>{let c=(e.rows?e.rows[0]:e).cells[k].textContent.normalize('NFKC').replace(/×10/g,'e').replace(/−/g,'-'),n=0;
if(!/^[<>+ -]*\d/.test(c))return c;
for(let m of c.split(/[±(\/…]/)[0].matchAll(/([+-]?[\d.]+(?:e-?\d+)?) ?([a-zA-Z]*)/g))n+=m[1]*(u[m[2]]||1);
return n},
b=[...t.tBodies],p=b[1]?t:b[0],c=(x,y)=>typeof x!=typeof y?typeof x=='number'?-1:1:s*(x-y||(x+'').localeCompare(y));
(b[1]?b:[...p.rows]).map(e=>[v(e),e]).sort((x,y)=>c(x[0],y[0])).forEach((e,i)=>{p.append(e[1]);if(b[1])e[1].style.background=i%2?'#80808018':'none'})
